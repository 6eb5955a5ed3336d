/**
 * The type of a connection to a server, for files that do not load the SDK.
 */
export type { Transport } from '@modelcontextprotocol/client'
