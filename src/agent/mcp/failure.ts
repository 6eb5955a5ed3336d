/**
 * Why an MCP server did not do what was asked. The message is for the model and for the owner.
 */
/**
 * `unreachable`: it cannot be started or asked, and nothing was done. `login_needed`: as that, until a person logs in. `timeout`,
 * `closed`: it may have done the work. `refused`: it answered with an error.
 */
export type McpFailureCode = 'unreachable' | 'login_needed' | 'timeout' | 'closed' | 'refused'

export class McpFailure extends Error {
  readonly code: McpFailureCode

  constructor(code: McpFailureCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'McpFailure'
    this.code = code
  }
}

export function loginNeeded(server: string): McpFailure {
  return new McpFailure(
    'login_needed',
    `The MCP server ${server} needs a login: run \`hermes mcp login ${server}\` on the machine of the gateway.`,
  )
}
