/**
 * The addresses of the gateway that a test calls without the token.
 */
import { routeAddresses } from '../docs/routes.ts'

/** They show nothing about people, conversations or settings. */
export const publicAddresses: readonly string[] = ['/', '/health', '/healthz', '/readyz', '/assets/app.js']

/** With a value for each parameter. The addresses of webhooks check the signature of their platform instead. */
export function servedAddresses(): string[] {
  const filled = routeAddresses().map((address) =>
    address.startsWith('/assets/') ? '/assets/app.js' : address.replace(/\*|:\w+/g, 'x'),
  )
  return [...new Set(filled)].filter((address) => !address.startsWith('/webhooks/'))
}
