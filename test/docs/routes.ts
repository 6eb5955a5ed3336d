/**
 * The addresses that the HTTP server of the gateway serves, read from the sources.
 */
import { filesOf, textOf } from './repository.ts'

export function routeAddresses(): string[] {
  const files = ['src/flows/admin-routes.ts', 'src/http/guard.ts', ...filesOf('platforms')].filter((path) =>
    path.endsWith('.ts'),
  )
  return files.flatMap((path) =>
    [...textOf(path).matchAll(/(?:path: |pathname === |\bget\(|\bact\()'(\/[^']*)'/g)].map(
      ([, address = '']) => address,
    ),
  )
}
