/**
 * The addresses that the HTTP server of the gateway serves, read from the sources.
 */
import { filesOf, textOf } from './repository.ts'

export function routeAddresses(): string[] {
  const files = ['src/api/admin-routes.ts', 'src/http/guard.ts', ...filesOf('platforms')].filter((path) =>
    path.endsWith('.ts'),
  )
  const literals = /(?:path: |pathname === |\bget\(|\bact\(|\broute\('[A-Z]+', |\['[A-Z]+', )'(\/[^']*)'/g
  // The console names its routes without its platform.
  const ofConsole = matches('platforms/console/adapter.ts', /\broute\('[A-Z]+', '(\w+)'/g)
  return [...files.flatMap((path) => matches(path, literals)), ...ofConsole.map((name) => `/cli/${name}`)]
}

function matches(path: string, pattern: RegExp): string[] {
  return [...textOf(path).matchAll(pattern)].map(([, found = '']) => found)
}
