/**
 * Reads errors of the SDK: what happened to a request, and why a server cannot be used.
 */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import { messageOf, systemCode } from '../../lib/errors.ts'
import { loginNeeded, McpServerError } from './mcp-server-error.ts'
import { cleanText } from './names.ts'

const maxReasonChars = 1_000

/** What an error of the SDK means for a request that was sent. */
export function toCallFailure(server: string, error: unknown, timeoutSeconds: number): McpServerError {
  if (error instanceof McpServerError) return error
  const unknown = 'Whether it had its effect is unknown: find out before you repeat it.'
  if (error instanceof UnauthorizedError) return loginNeeded(server)
  if (error instanceof ProtocolError)
    return new McpServerError(
      'refused',
      cleanText(`The MCP server ${server} refused: ${error.message}`, maxReasonChars),
      {
        cause: error,
      },
    )
  if (error instanceof SdkHttpError) {
    const answer = `The MCP server ${server} answered with HTTP ${error.status}.`
    // A proxy that waits no longer, or a failure in the middle of the work.
    const isRefusal = error.status !== 408 && (error.status ?? 0) < 500
    return isRefusal
      ? new McpServerError('refused', answer, { cause: error })
      : new McpServerError('closed', `${answer} ${unknown}`, { cause: error })
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return new McpServerError(
      'timeout',
      `The MCP server ${server} did not answer within ${timeoutSeconds} seconds. ${unknown}`,
      { cause: error },
    )
  const reason = cleanText(reasonOf(error), maxReasonChars)
  return new McpServerError(
    'closed',
    `The connection to the MCP server ${server} ended during the call: ${reason} ${unknown}`,
    { cause: error },
  )
}

export interface StartDetails {
  /** The kind of the sandbox in which the program was started. */
  readonly sandbox?: string | undefined
  /** A sentence with what it wrote, after a space; '' for nothing. */
  readonly said: string
}

/** What an error while a server starts means. */
export function toStartFailure(
  server: string,
  error: unknown,
  { sandbox, said }: StartDetails = { said: '' },
): McpServerError {
  if (error instanceof McpServerError) return error
  if (error instanceof UnauthorizedError) return loginNeeded(server)
  const isUnauthorized = error instanceof SdkHttpError && error.status === 401
  const hint = isUnauthorized ? ' It asks for a login: set its `headers`, or `auth: oauth`.' : ''
  const where =
    sandbox === undefined
      ? ''
      : ` It was started in a sandbox (${sandbox}), which hides much of this machine from it; \`mcp_servers.${server}.sandbox: off\` starts it without one.`
  const text = `The MCP server ${server} cannot be reached: ${reasonOf(error)}.${hint}${said}`
  return new McpServerError('unreachable', `${cleanText(text.replaceAll('..', '.'), maxReasonChars)}${where}`, {
    cause: error,
  })
}

/** With the code of the system, which `fetch` hides in the cause. */
function reasonOf(error: unknown): string {
  if (error instanceof SdkError) return error.code === SdkErrorCode.ConnectionClosed ? 'it ended' : error.message
  const cause = error instanceof Error ? error.cause : undefined
  // `fetch` says only that it failed.
  const isFetchError = error instanceof TypeError && cause !== undefined
  const code = systemCode(error) ?? (isFetchError ? systemCode(cause) : undefined)
  const text = isFetchError ? messageOf(cause) : messageOf(error)
  return code === undefined || text.includes(code) ? text : `${text} (${code})`
}
