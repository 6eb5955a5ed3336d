/**
 * A model request as those see it who only watch: without what may be a key among its headers and query.
 */
import type { ModelRequest } from '../../agent/models/provider.ts'

const safeHeaderPattern =
  /^(accept|content-type|user-agent|openai-(organization|project|beta)|anthropic-(version|beta)|x-request-id)$/i
const secretQueryPattern = /key|token|secret|sig|auth|password/i

/** The very same object where it has neither. */
export function redactRequest(request: ModelRequest): ModelRequest {
  const { extra_headers: headers, extra_query: query } = request
  if (headers === undefined && query === undefined) return request
  const shownHeaders = redactValues(headers, (name) => !safeHeaderPattern.test(name))
  const shownQuery = redactValues(query, (name) => secretQueryPattern.test(name))
  return { ...request, extra_headers: shownHeaders, extra_query: shownQuery }
}

/** Middleware may have put anything there. */
function redactValues(values: unknown, isHidden: (name: string) => boolean): Record<string, string> {
  if (typeof values !== 'object' || values === null) return {}
  const all = Object.entries(values)
  return Object.fromEntries(all.map(([name, value]) => [name, isHidden(name) ? '[redacted]' : String(value)]))
}
