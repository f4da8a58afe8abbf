/* The sums over nodes and neighbours of many small graphs, forward and backward, on a CPU.

Compiled twice, for REAL float and double. Graphs lie one after the other: the nodes of graph b are node_ptr[b] up to
node_ptr[b + 1], the edges into node i are edge_ptr[i] up to edge_ptr[i + 1], and source[e] is the node that edge e comes
from, in the same graph. So graphs are independent of each other, and every thread has its own: no two write to one
place, and sums do not depend on the number of threads.

A gradient or result that is not wanted is a null pointer. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define EACH_GRAPH _Pragma("omp parallel for schedule(static) num_threads(threads) if (threads > 1)") \
    for (int64_t b = 0; b < graphs; b++)

static inline REAL dot(int64_t d, const REAL *restrict x, const REAL *restrict y)
{
    REAL sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < d; k++)
        sum += x[k] * y[k];
    return sum;
}

/* Sums of whole rows keep a block of four vectors in registers; what remains of a row goes one vector, then one number at
a time. */
typedef REAL vector __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));
#define LANES (int64_t)(sizeof(vector) / sizeof(REAL))
#define AT(row, k) (*(vector *)((row) + (k)))
#define READ(row, k) (*(const vector *)((row) + (k)))

/* to = sum_n w_n rows_n, with rows_n the row number `which[n]` or, without such a list, n. */
static inline void sum_rows(int64_t d, int64_t count, const int64_t *which, const REAL *w, const REAL *rows, REAL *to)
{
    int64_t k = 0;
    for (; k + 4 * LANES <= d; k += 4 * LANES) {
        vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (int64_t n = 0; n < count; n++) {
            const REAL *row = rows + (which ? which[n] : n) * d + k;
            s0 += w[n] * READ(row, 0);
            s1 += w[n] * READ(row, LANES);
            s2 += w[n] * READ(row, 2 * LANES);
            s3 += w[n] * READ(row, 3 * LANES);
        }
        AT(to, k) = s0;
        AT(to, k + LANES) = s1;
        AT(to, k + 2 * LANES) = s2;
        AT(to, k + 3 * LANES) = s3;
    }
    for (; k + LANES <= d; k += LANES) {
        vector sum = {0};
        for (int64_t n = 0; n < count; n++)
            sum += w[n] * READ(rows, (which ? which[n] : n) * d + k);
        AT(to, k) = sum;
    }
    for (; k < d; k++) {
        REAL sum = 0;
        for (int64_t n = 0; n < count; n++)
            sum += w[n] * rows[(which ? which[n] : n) * d + k];
        to[k] = sum;
    }
}

/* rows_n += w_n from, with rows_n the row number `which[n]` or, without such a list, n. */
static inline void spread_row(int64_t d, int64_t count, const int64_t *which, const REAL *w, const REAL *from, REAL *rows)
{
    int64_t k = 0;
    for (; k + 4 * LANES <= d; k += 4 * LANES) {
        vector v0 = READ(from, k), v1 = READ(from, k + LANES), v2 = READ(from, k + 2 * LANES),
               v3 = READ(from, k + 3 * LANES);
        for (int64_t n = 0; n < count; n++) {
            REAL *row = rows + (which ? which[n] : n) * d + k;
            AT(row, 0) += w[n] * v0;
            AT(row, LANES) += w[n] * v1;
            AT(row, 2 * LANES) += w[n] * v2;
            AT(row, 3 * LANES) += w[n] * v3;
        }
    }
    for (; k + LANES <= d; k += LANES) {
        vector v = READ(from, k);
        for (int64_t n = 0; n < count; n++)
            AT(rows, (which ? which[n] : n) * d + k) += w[n] * v;
    }
    for (; k < d; k++)
        for (int64_t n = 0; n < count; n++)
            rows[(which ? which[n] : n) * d + k] += w[n] * from[k];
}

/* to = x u + y v. */
static inline void combine(int64_t d, REAL *restrict to, REAL x, const REAL *restrict u, REAL y, const REAL *restrict v)
{
#pragma omp simd
    for (int64_t k = 0; k < d; k++)
        to[k] = x * u[k] + y * v[k];
}

static inline void scale(int64_t d, REAL *restrict to, REAL x, const REAL *restrict u)
{
#pragma omp simd
    for (int64_t k = 0; k < d; k++)
        to[k] = x * u[k];
}

/* exp of each number, none of which is positive. For float: 2^n e^r with x = n log 2 + r, |r| <= log(2) / 2, and e^r by its
series, to 1e-6 of the value; unlike the library's expf it takes 16 numbers at once. */
static inline void exponentials(int64_t count, REAL *x)
{
    if (sizeof(REAL) != sizeof(float)) {
        for (int64_t k = 0; k < count; k++)
            x[k] = exp(x[k]);
        return;
    }
#pragma omp simd
    for (int64_t k = 0; k < count; k++) {
        float y = x[k] < -87 ? -87 : x[k], n = rintf(y * 1.44269504f);
        float r = y - n * 0.693145752f - n * 1.42860677e-6f;
        float series = 1 + r * (1 + r * (1.f / 2 + r * (1.f / 6 + r * (1.f / 24 + r * (1.f / 120 + r * (1.f / 720))))));
        int32_t bits = ((int32_t)n + 127) << 23;
        float power;
        memcpy(&power, &bits, sizeof power);
        x[k] = series * power;
    }
}

/* a_j = softmax_j(g_b . h_j) over the nodes j of each graph b, and read_b = sum_j a_j h_j. */
void attend(int threads, int64_t graphs, int64_t d, const int64_t *node_ptr, const REAL *g, const REAL *h, REAL *a,
            REAL *read)
{
    EACH_GRAPH {
        REAL highest = -INFINITY;
        for (int64_t j = node_ptr[b]; j < node_ptr[b + 1]; j++) {
            a[j] = dot(d, g + b * d, h + j * d);
            highest = a[j] > highest ? a[j] : highest;
        }
        for (int64_t j = node_ptr[b]; j < node_ptr[b + 1]; j++)
            a[j] -= highest;
    }
    exponentials(node_ptr[graphs] - node_ptr[0], a + node_ptr[0]);
    EACH_GRAPH {
        int64_t begin = node_ptr[b], end = node_ptr[b + 1];
        REAL total = 0;
        for (int64_t j = begin; j < end; j++)
            total += a[j];
        for (int64_t j = begin; j < end; j++)
            a[j] /= total;
        if (read)
            sum_rows(d, end - begin, 0, a + begin, h + begin * d, read + b * d);
    }
}

/* With e_j the whole gradient of a_j, that by way of read included: c_j = a_j (e_j - sum_i a_i e_i) is the gradient of
g_b . h_j. Room for c is the caller's. */
void attend_backward(int threads, int64_t graphs, int64_t d, const int64_t *node_ptr, const REAL *g, const REAL *h,
                     const REAL *a, const REAL *grad_a, const REAL *grad_read, REAL *c, REAL *grad_g, REAL *grad_h)
{
    EACH_GRAPH {
        int64_t begin = node_ptr[b], end = node_ptr[b + 1];
        REAL mean = 0;
        for (int64_t j = begin; j < end; j++) {
            c[j] = (grad_a ? grad_a[j] : 0) + (grad_read ? dot(d, grad_read + b * d, h + j * d) : 0);
            mean += a[j] * c[j];
        }
        for (int64_t j = begin; j < end; j++)
            c[j] = a[j] * (c[j] - mean);
        sum_rows(d, end - begin, 0, c + begin, h + begin * d, grad_g + b * d);
        for (int64_t j = begin; grad_h && j < end; j++)
            if (grad_read)
                combine(d, grad_h + j * d, c[j], g + b * d, a[j], grad_read + b * d);
            else
                scale(d, grad_h + j * d, c[j], g + b * d);
    }
}

/* out_b = sum_j w_j h_j over the nodes j of each graph b. */
void pool(int threads, int64_t graphs, int64_t d, const int64_t *node_ptr, const REAL *w, const REAL *h, REAL *out)
{
    EACH_GRAPH
        sum_rows(d, node_ptr[b + 1] - node_ptr[b], 0, w + node_ptr[b], h + node_ptr[b] * d, out + b * d);
}

void pool_backward(int threads, int64_t graphs, int64_t d, const int64_t *node_ptr, const REAL *w, const REAL *h,
                   const REAL *grad_out, REAL *grad_w, REAL *grad_h)
{
    EACH_GRAPH
        for (int64_t j = node_ptr[b]; j < node_ptr[b + 1]; j++) {
            if (grad_w)
                grad_w[j] = dot(d, grad_out + b * d, h + j * d);
            if (grad_h)
                scale(d, grad_h + j * d, w[j], grad_out + b * d);
        }
}

/* out_i = sum_e w_e h_{source e} over the edges e into each node i. */
void aggregate(int threads, int64_t graphs, int64_t d, const int64_t *node_ptr, const int64_t *edge_ptr,
               const int64_t *source, const REAL *w, const REAL *h, REAL *out)
{
    EACH_GRAPH
        for (int64_t i = node_ptr[b]; i < node_ptr[b + 1]; i++) {
            int64_t e = edge_ptr[i];
            sum_rows(d, edge_ptr[i + 1] - e, source + e, w + e, h, out + i * d);
        }
}

void aggregate_backward(int threads, int64_t graphs, int64_t d, const int64_t *node_ptr, const int64_t *edge_ptr,
                        const int64_t *source, const REAL *w, const REAL *h, const REAL *grad_out, REAL *grad_w,
                        REAL *grad_h)
{
    EACH_GRAPH {
        if (grad_h)
            memset(grad_h + node_ptr[b] * d, 0, (node_ptr[b + 1] - node_ptr[b]) * d * sizeof(REAL));
        for (int64_t i = node_ptr[b]; i < node_ptr[b + 1]; i++) {
            int64_t begin = edge_ptr[i], end = edge_ptr[i + 1];
            for (int64_t e = begin; grad_w && e < end; e++)
                grad_w[e] = dot(d, grad_out + i * d, h + source[e] * d);
            if (grad_h)
                spread_row(d, end - begin, source + begin, w + begin, grad_out + i * d, grad_h);
        }
    }
}

/* out_ik = sum_e w_ek h_{source e} over the edges e into each node i, each of which has `kinds` weights. */
void aggregate_kinds(int threads, int64_t graphs, int64_t d, int64_t kinds, const int64_t *node_ptr,
                     const int64_t *edge_ptr, const int64_t *source, const REAL *w, const REAL *h, REAL *out)
{
    EACH_GRAPH
        for (int64_t i = node_ptr[b]; i < node_ptr[b + 1]; i++) {
            REAL *to = out + i * kinds * d;
            memset(to, 0, kinds * d * sizeof(REAL));
            for (int64_t e = edge_ptr[i]; e < edge_ptr[i + 1]; e++)
                spread_row(d, kinds, 0, w + e * kinds, h + source[e] * d, to);
        }
}

void aggregate_kinds_backward(int threads, int64_t graphs, int64_t d, int64_t kinds, const int64_t *node_ptr,
                              const int64_t *edge_ptr, const int64_t *source, const REAL *w, const REAL *h,
                              const REAL *grad_out, REAL *grad_w, REAL *grad_h)
{
    EACH_GRAPH {
        REAL part[d];
        if (grad_h)
            memset(grad_h + node_ptr[b] * d, 0, (node_ptr[b + 1] - node_ptr[b]) * d * sizeof(REAL));
        for (int64_t i = node_ptr[b]; i < node_ptr[b + 1]; i++)
            for (int64_t e = edge_ptr[i]; e < edge_ptr[i + 1]; e++) {
                const REAL *from = grad_out + i * kinds * d;
                for (int64_t k = 0; grad_w && k < kinds; k++)
                    grad_w[e * kinds + k] = dot(d, from + k * d, h + source[e] * d);
                if (grad_h) {
                    REAL *to = grad_h + source[e] * d;
                    sum_rows(d, kinds, 0, w + e * kinds, from, part);
                    combine(d, to, 1, to, 1, part);
                }
            }
    }
}

/* out_i = sum_e share_e z_{source e} with share_e = w_e t_{source e} / total_i, total_i = sum_e w_e t_{source e}. */
void weighted_mean(int threads, int64_t graphs, int64_t d, const int64_t *node_ptr, const int64_t *edge_ptr,
                   const int64_t *source, const REAL *w, const REAL *t, const REAL *z, REAL *share, REAL *out)
{
    EACH_GRAPH
        for (int64_t i = node_ptr[b]; i < node_ptr[b + 1]; i++) {
            int64_t begin = edge_ptr[i], end = edge_ptr[i + 1];
            REAL total = 0;
            for (int64_t e = begin; e < end; e++)
                total += share[e] = w[e] * t[source[e]];
            for (int64_t e = begin; e < end; e++)
                share[e] /= total;
            sum_rows(d, end - begin, source + begin, share + begin, z, out + i * d);
        }
}

/* z_j has the gradient c_j = sum_i share_ij grad_out_i, and t_j the gradient (c_j . z_j - sum_i share_ij m_i) / t_j with
m_i = grad_out_i . out_i. */
void weighted_mean_backward(int threads, int64_t graphs, int64_t d, const int64_t *node_ptr, const int64_t *edge_ptr,
                            const int64_t *source, const REAL *t, const REAL *z, const REAL *share, const REAL *out,
                            const REAL *grad_out, REAL *grad_t, REAL *grad_z)
{
    EACH_GRAPH {
        int64_t first = node_ptr[b], last = node_ptr[b + 1];
        memset(grad_z + first * d, 0, (last - first) * d * sizeof(REAL));
        memset(grad_t + first, 0, (last - first) * sizeof(REAL));
        for (int64_t i = first; i < last; i++) {
            int64_t begin = edge_ptr[i], end = edge_ptr[i + 1];
            REAL m = dot(d, grad_out + i * d, out + i * d);
            for (int64_t e = begin; e < end; e++)
                grad_t[source[e]] -= share[e] * m;
            spread_row(d, end - begin, source + begin, share + begin, grad_out + i * d, grad_z);
        }
        for (int64_t j = first; j < last; j++)
            grad_t[j] = (grad_t[j] + dot(d, grad_z + j * d, z + j * d)) / t[j];
    }
}

/* A number that looks random, out of another. */
static inline uint32_t mixed(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352dU;
    x = (x ^ (x >> 15)) * 0x846ca68bU;
    return x ^ (x >> 16);
}

/* Each number times `scale`, or 0 with probability level / 2^32: a function of the seed and of its place. */
void drop(int64_t count, uint64_t seed, uint32_t level, double scale, const REAL *restrict x, REAL *restrict out)
{
    uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    REAL kept = (REAL)scale;
    for (int64_t begin = 0; begin < count; begin += 1 << 30) {
        int32_t length = (int32_t)(count - begin < 1 << 30 ? count - begin : 1 << 30);
        uint32_t first = (uint32_t)begin ^ low;
#pragma omp simd
        for (int32_t k = 0; k < length; k++)
            out[begin + k] = x[begin + k] * (mixed(mixed((uint32_t)k + first) ^ high) < level ? 0 : kept);
    }
}

/* The rows of the chosen graphs, one graph after the other: rows of `width` numbers each, row_ptr says whose they are. */
void gather(int64_t chosen, int64_t width, const int64_t *row_ptr, const int64_t *index, const REAL *from, REAL *to)
{
    for (int64_t b = 0; b < chosen; b++) {
        int64_t begin = row_ptr[index[b]], length = row_ptr[index[b] + 1] - begin;
        memcpy(to, from + begin * width, length * width * sizeof(REAL));
        to += length * width;
    }
}

/* Structure of the chosen graphs out of that of the whole set, whose edges name their source by its place in the graph:
node_ptr and edge_ptr of the batch, and the source of every edge by its place in the batch. */
void assemble(int64_t chosen, const int64_t *set_node_ptr, const int64_t *set_edge_ptr, const int64_t *set_source,
              const int64_t *index, int64_t *node_ptr, int64_t *edge_ptr, int64_t *source)
{
    int64_t nodes = 0, edges = 0;
    for (int64_t b = 0; b < chosen; b++) {
        int64_t begin = set_node_ptr[index[b]], end = set_node_ptr[index[b] + 1];
        node_ptr[b] = nodes;
        for (int64_t i = begin; i < end; i++)
            edge_ptr[nodes + i - begin] = edges + set_edge_ptr[i] - set_edge_ptr[begin];
        for (int64_t e = set_edge_ptr[begin]; e < set_edge_ptr[end]; e++)
            source[edges++] = nodes + set_source[e];
        nodes += end - begin;
    }
    node_ptr[chosen] = nodes;
    edge_ptr[nodes] = edges;
}
