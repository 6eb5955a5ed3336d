/**
 * OpenAI's Responses API: a response is a stored message and the result of its turn. Loaded with the first request.
 */
import { answerTurn } from './answer-turn.ts'
import { ApiError } from './errors.ts'
import {
  discardExchange,
  type Exchange,
  findExchange,
  noteAccepted,
  openExchange,
  removeExchange,
} from './exchanges.ts'
import { responseObject } from './format-exchange.ts'
import { parseExchangeRequest } from './parse-response-request.ts'
import { createResponseStream } from './response-stream.ts'
import type { ApiServer } from './server.ts'
import type { InboundMessage } from './to-event.ts'

/** `POST /v1/responses`. Throws `ApiError` and errors of the gateway. */
export async function createResponse(server: ApiServer, request: Request): Promise<Response> {
  const { context, turns, options } = server
  const asked = parseExchangeRequest('response', await request.bytes(), request.headers)
  turns.admit()
  const files = await turns.storeFiles(asked, request.signal)
  const { exchange, message } = await openExchange(context, 'response', asked, files)
  // Before the message is stored, so that the stream has the first text of its turn.
  const stream = asked.stream ? createResponseStream({ exchange, keepAliveMs: options.keepAliveMs }) : undefined
  return await answerTurn(server, {
    message,
    sessionId: asked.sessionId,
    signal: request.signal,
    isLive: asked.stream,
    accept: () => acceptExchange(server, exchange, message),
    stream: () => stream,
    body: (result) => responseObject(exchange, result),
  })
}

/** A request that the gateway refuses leaves no record. */
export async function acceptExchange(
  { context, turns }: ApiServer,
  exchange: Exchange,
  message: InboundMessage,
): Promise<number> {
  try {
    const seq = await turns.accept(message)
    await noteAccepted(context, exchange, seq)
    return seq
  } catch (error) {
    if (exchange.seq === null) await discardExchange(context, exchange)
    throw error
  }
}

/** `GET /v1/responses/{id}`. Throws `ApiError` 404. */
export async function getResponse({ context }: ApiServer, request: Request): Promise<Response> {
  const { id, url } = idOf(request)
  if (url.searchParams.get('stream') === 'true')
    throw new ApiError(400, 'stream: a stored response cannot be streamed; poll its status.', {
      param: 'stream',
      code: 'unsupported_value',
    })
  const exchange = await findExchange(context, 'response', id)
  const result = exchange === undefined ? null : await context.turns.findResult(exchange.seq)
  if (exchange === undefined || result === null) throw notFound(id)
  return Response.json(responseObject(exchange, result))
}

/** `DELETE /v1/responses/{id}`. The messages stay in their session. Throws `ApiError` 404. */
export async function deleteResponse({ context }: ApiServer, request: Request): Promise<Response> {
  const { id } = idOf(request)
  const exchange = await findExchange(context, 'response', id)
  if (exchange === undefined) throw notFound(id)
  await removeExchange(context, exchange)
  return Response.json({ id, object: 'response', deleted: true })
}

function idOf(request: Request): { readonly id: string; readonly url: URL } {
  const url = new URL(request.url)
  return { id: url.pathname.slice('/v1/responses/'.length), url }
}

function notFound(id: string): ApiError {
  return new ApiError(404, `Response with id '${id.slice(0, 100)}' not found.`, {
    param: 'response_id',
    code: 'response_not_found',
  })
}
