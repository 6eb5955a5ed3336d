/**
 * How long the connection waits, and for what.
 */
export interface GatewayTiming {
  /** After this silence a heartbeat is sent. Discord expects heartbeats out of turn to be rare. */
  readonly quietMs: number
  /** Time to acknowledge that heartbeat; after it the connection is replaced. */
  readonly answerMs: number
  /** An interruption is reported after this time. */
  readonly graceMs: number
  readonly maxBackoffMs: number
  readonly handshakeMs: number
  /** Discord accepts one new session of a bot in five seconds. */
  readonly identifyGapMs: number
}

export const gatewayTiming: GatewayTiming = {
  quietMs: 20_000,
  answerMs: 8_000,
  graceMs: 3_000,
  maxBackoffMs: 5_000,
  handshakeMs: 8_000,
  identifyGapMs: 5_000,
}
