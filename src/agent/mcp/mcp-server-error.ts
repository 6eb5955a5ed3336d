/**
 * Why an MCP server did not do what was asked. The message is for the model and for the owner.
 */
import { CodedError } from '../../lib/errors.ts'

/**
 * `unreachable`: it cannot be started or asked, and nothing was done. `login_needed`: as that, until a person logs in. `timeout`,
 * `closed`: it may have done the work. `refused`: it answered with an error.
 */
export type McpServerErrorCode = 'unreachable' | 'login_needed' | 'timeout' | 'closed' | 'refused'

export class McpServerError extends CodedError<McpServerErrorCode> {}

export function loginNeeded(server: string): McpServerError {
  return new McpServerError(
    'login_needed',
    `The MCP server ${server} needs a login: run \`hermes mcp login ${server}\` on the machine of the gateway.`,
  )
}
