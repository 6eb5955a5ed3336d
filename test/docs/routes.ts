/**
 * The addresses that the HTTP server of the gateway serves, read from the sources.
 */
import { filesOf, textOf } from './repository.ts'

export function routeAddresses(): string[] {
  const files = [...filesOf('src/api/routes'), 'src/http/guard.ts', 'src/app/endpoints.ts', ...filesOf('platforms')]
  const sources = files.filter((path) => path.endsWith('.ts'))
  const literals = /(?:path: |pathname === |(?:\broute|\))\('[A-Z]+', )'(\/[^']*)'/g
  // The console names its routes without its platform.
  const ofConsole = matches('platforms/console/adapter.ts', /\broute\('[A-Z]+', '(\w+)'/g)
  return [...sources.flatMap((path) => matches(path, literals)), ...ofConsole.map((name) => `/cli/${name}`)]
}

function matches(path: string, pattern: RegExp): string[] {
  return [...textOf(path).matchAll(pattern)].map(([, found = '']) => found)
}
