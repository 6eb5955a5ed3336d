/**
 * Converts error responses of the gateway's HTTP API to errors.
 */
import { z } from 'zod'
import { type ErrorCode, errorCatalogue } from '../lib/error-catalogue.ts'
import { HermesError, messageOf, systemCode } from '../lib/errors.ts'
import type { ApiResponse } from './http-fetch.ts'

const errorSchema = z.object({ error: z.object({ code: z.string(), message: z.string(), hint: z.string() }) })

/** For a request without any response. */
export function toUnreachableError(error: unknown): HermesError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  return new HermesError('cli/no-daemon', `(${systemCode(cause) ?? messageOf(cause)})`, { cause: error })
}

/** The gateway's error, where the response body contains one. */
export async function readErrorResponse(response: ApiResponse): Promise<HermesError> {
  const text = await response.text()
  try {
    const { code, message, hint } = errorSchema.parse(JSON.parse(text)).error
    if (!isErrorCode(code)) return new HermesError('cli/failed', message, { hint })
    const { meaning } = errorCatalogue[code]
    return new HermesError(code, message.startsWith(meaning) ? message.slice(meaning.length).trim() : message, { hint })
  } catch (cause) {
    return new HermesError('cli/failed', `The gateway responded with status ${response.status}.`, { cause })
  }
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code)
}
