/**
 * What an entry of `providers` adds to each request to its server. Neither plugins nor the transcript see it: headers may hold keys.
 */
import type { ModelRequest } from '../support/model-request.ts'
import type { NamedServer } from './resolve-provider.ts'

export type ServerRequestSettings = Pick<
  NamedServer,
  'extra_headers' | 'extra_body' | 'session_affinity_header' | 'request_timeout_seconds' | 'models'
>

/**
 * The request with what the entry says. What the request itself says takes precedence. Pure.
 *
 * @param sessionId the conversation; undefined for work outside of one
 */
export function addServerSettings(
  request: ModelRequest,
  server: ServerRequestSettings,
  sessionId: string | undefined,
): ModelRequest {
  const { extra_body: body, session_affinity_header: sessionHeader } = server
  const seconds = server.models?.[request.model]?.timeout_seconds ?? server.request_timeout_seconds
  const session = sessionHeader === undefined || !sessionId ? {} : { [sessionHeader]: sessionId }
  const headers = { ...server.extra_headers, ...session }
  return {
    ...(seconds === undefined ? {} : { timeout: seconds }),
    ...request,
    ...(body === undefined ? {} : { extra_body: { ...body, ...request.extra_body } }),
    ...(Object.keys(headers).length === 0 ? {} : { extra_headers: { ...headers, ...request.extra_headers } }),
  }
}
