/**
 * The gateway of the MCP server: over HTTP in a process of its own, or directly within the gateway.
 */
import type { ApiAccess } from '../../api/client.ts'

export interface McpGateway extends ApiAccess {
  /** Whether requests reach a gateway that may stop and start again. */
  readonly isRemote: boolean
}
