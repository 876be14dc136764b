/** The record that the kernel itself adds to the log, and modes of its moves. */
import { reset } from "@reyn/timetravel";
import { defineRecord, type WalRecord } from "@reyn/wal";
import { z } from "zod";

/** The opening of a session, which its scope names. `default/main` always exists and has none. */
export const sessionOpened = defineRecord("session_opened", z.object({}));

/** The mode of a reset that leaves history as it is, and takes a file over from another moment. */
export const ADOPT = "adopt";

/** The mode of a reset that leaves history as it is, and ends all work in flight. */
export const ENDED = "ended";

/** Is this the move by which a person ends all work? */
export const endsWork = (record: WalRecord): boolean => reset.is(record) && record.data.mode === ENDED;
