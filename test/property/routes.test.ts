/**
 * Every path of the JSON API with every method: the route of this method and path, or 405 with the methods that the path has.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { apiRoutes } from '../../src/api/routes.ts'
import { createAddressCheck } from '../../src/http/access.ts'
import { guard } from '../../src/http/guard.ts'
import { createRouteTable } from '../../src/http/route-table.ts'
import { readyState } from '../http/support.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']

const table = createRouteTable()
for (const { method, path, access } of apiRoutes)
  table.add({ route: { method, path, access, handle: () => new Response() }, alwaysAvailable: true })

function decide(method: string, target: string) {
  const addresses = createAddressCheck({ host: '127.0.0.1', allowed_hosts: [], allowed_origins: [] })
  const head = { method, target, host: '127.0.0.1', origin: undefined, authorization: 'Bearer token' }
  return guard(head, { addresses, table, readiness: readyState, isAuthorised: () => true })
}

test('each method of each path is its route or 405 with Allow, whatever stands in the variable parts', () => {
  const paths = Map.groupBy(apiRoutes, ({ path }) => path)
  assert.ok(paths.size > 40, `only ${paths.size} paths`)
  const value = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).map(encodeURIComponent)
  const segment = value.filter((text) => text !== '.' && text !== '..')
  fc.assert(
    fc.property(fc.array(segment, { minLength: 3, maxLength: 3 }), fc.constantFrom(...methods), (values, method) => {
      for (const [path, routes] of paths) {
        let used = 0
        const target = path.replace(/\{\w+\}/g, () => values[used++] ?? '')
        const asked = method === 'HEAD' ? 'GET' : method
        const expected = routes.find((route) => route.method === asked)
        const decision = decide(method, target)
        if (expected !== undefined) {
          assert.ok(decision.admitted, `${method} ${target}`)
          assert.deepEqual([decision.route.method, decision.route.path], [expected.method, path])
          continue
        }
        assert.ok(!decision.admitted && decision.response.status === 405, `${method} ${target}`)
        const allowed = (decision.response.headers['allow'] ?? '').split(', ').filter((name) => name !== 'HEAD')
        assert.deepEqual(
          allowed,
          routes.map((route) => route.method),
        )
      }
    }),
    { seed: 25, numRuns: 200 },
  )
})

test('no two routes have the same method and path', () => {
  const names = apiRoutes.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)
  assert.equal(new Set(names).size, names.length)
})
