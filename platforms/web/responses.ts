/**
 * JSON responses. An error has the form `{error: {code, message, hint}}`.
 */
import { HermesError, isHermesError } from '#sdk'

const headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

export function jsonResponse(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers })
}

/** Converts a `HermesError` of a handler into a response. The HTTP server handles and logs other errors. */
export async function withErrorResponse(handle: () => Promise<Response> | Response): Promise<Response> {
  try {
    return await handle()
  } catch (error) {
    if (!isHermesError(error)) throw error
    return errorResponse(error)
  }
}

function errorResponse(error: HermesError): Response {
  return jsonResponse(statusOf(error), { error: { code: error.code, message: error.message, hint: error.hint } })
}

export function notFoundResponse(path: string): Response {
  return errorResponse(new HermesError('http/not-found', path))
}

function statusOf({ code }: HermesError): number {
  switch (code) {
    case 'http/bad-request':
    case 'media/too-many':
      return 400
    case 'inbox/refused':
      return 403
    case 'http/not-found':
      return 404
    case 'media/upload-gone':
      return 410
    case 'inbox/too-large':
    case 'http/too-large':
      return 413
    case 'store/full':
      return 507
    default:
      return code.startsWith('store/') || code === 'http/starting' ? 503 : 500
  }
}
