import { testShort } from "./short.ts";

testShort("at system calls");
