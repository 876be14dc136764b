import { testShort } from "./short.ts";

testShort("all others");
