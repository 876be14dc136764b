/** A sample of the fault sweep: faults of processes. A file of its own, so that it runs beside the others. */
import { testShort } from "./short.ts";

testShort("of processes");
