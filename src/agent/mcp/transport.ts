/**
 * The type of a connection to a server, for files that do not load the SDK.
 */
import type { Transport } from '@modelcontextprotocol/client'

export interface ServerTransport extends Transport {
  /** The kind of the sandbox in which the program runs; absent without one. */
  readonly sandbox?: string | undefined
}
