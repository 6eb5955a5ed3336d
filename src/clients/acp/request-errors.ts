/**
 * Errors as an editor receives them: a message that says what to do, and the stable code of the gateway.
 */
import { RequestError } from '@agentclientprotocol/sdk'
import { isHermesError, messageOf } from '../../lib/errors.ts'

/** A turn that has failed. `message`: what the gateway tells the person. */
export class AnswerFailed extends Error {
  readonly code: string | undefined

  constructor(message: string, code: string | undefined) {
    super(message)
    this.code = code
  }
}

export function invalidParams(reason: string): RequestError {
  return new RequestError(-32602, reason)
}

export function unknownSession(id: string): RequestError {
  return new RequestError(-32002, `There is no session ${id.slice(0, 128)}. session/list shows the sessions.`)
}

/** Whether a signal was aborted by `$/cancel_request`. */
export function isCancelRequest(reason: unknown): boolean {
  return reason instanceof RequestError && reason.code === -32800
}

/** Every error of a handler. A `RequestError` stays as it is. */
export function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  if (error instanceof AnswerFailed) return new RequestError(-32603, error.message.trim(), { code: error.code })
  if (!isHermesError(error)) return new RequestError(-32603, messageOf(error))
  const { code, hint } = error
  const isBad = code === 'http/bad-request' || code.startsWith('media/')
  return new RequestError(isBad ? -32602 : -32603, `${messageOf(error)}\n${hint} (${code})`, { code })
}
