/** A sample of the fault sweep: faults at system calls. A file of its own, so that it runs beside the others. */
import { testShort } from "./short.ts";

testShort("at system calls");
