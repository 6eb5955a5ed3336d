/**
 * The exit codes of commands.
 */
/** The exit codes other than 0. `hermes --help` lists them. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  /** No gateway is running on this home. */
  noDaemon: 3,
  /** Try again later (sysexits.h, EX_TEMPFAIL): a message is not confirmed yet, or the gateway asks to be started again. */
  temporary: 75,
  /** The configuration must be fixed first, so service managers should not restart the process (sysexits.h, EX_CONFIG). */
  config: 78,
  /** Interrupted by Ctrl-C. */
  interrupted: 130,
} as const
