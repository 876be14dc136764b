/** A sample of the fault sweep: all faults but those at system calls. */
import { testShort } from "./short.ts";

testShort("all others");
