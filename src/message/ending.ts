/**
 * How the processing of an accepted message has ended. `open`: it has not ended yet. `unaccounted`: the promise that each message
 * ends is broken, or the database was changed by hand.
 */
export const endings = ['answered', 'failed', 'silent', 'absorbed', 'open', 'unaccounted'] as const
export type Ending = (typeof endings)[number]
