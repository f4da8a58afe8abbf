// The page that a server sends.
import { start } from "./main.js";
import { server } from "./server.js";

start(server, ["predict", "browse", "compare", "model"]);
