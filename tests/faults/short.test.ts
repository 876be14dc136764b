/** A sample of the fault sweep: all faults but those at system calls and of processes. */
import { testShort } from "./short.ts";

testShort("all others");
