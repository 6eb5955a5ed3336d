/**
 * Every registered path answers a method that it does not have with 405 and `Allow`, and never runs another route.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asRecord } from '../../src/lib/json.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'] as const

/** The routes of pages and clients, which are no public API. */
const ownRoutes: Readonly<Record<string, readonly string[]>> = {
  '/': ['GET'],
  '/assets/page.js': ['GET'],
  '/health': ['GET'],
  '/mcp': ['GET', 'POST', 'DELETE'],
  '/web/stream': ['GET'],
  '/web/files/x.png': ['GET'],
  '/web/messages': ['POST'],
  '/webhooks/x': ['POST'],
}

/** By path, with values for its variable parts. */
async function routesOf(gateway: TestGateway): Promise<ReadonlyMap<string, readonly string[]>> {
  const document = asRecord(await (await gateway.http('/api/openapi.json')).json())
  const described = Object.entries(asRecord(document['paths'])).map(
    ([path, operations]): [string, readonly string[]] => [
      path.replace(/\{\w+\}/g, '0'),
      Object.keys(asRecord(operations)).map((method) => method.toUpperCase()),
    ],
  )
  return new Map([...described, ...Object.entries(ownRoutes)])
}

test('a method that a path does not have is refused with 405, which names the ones that it has', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { platforms: { api_server: { enabled: true }, web: { enabled: true }, webhook: { enabled: true } } },
  })
  const routes = await routesOf(gateway)
  assert.ok(routes.size > 50, `only ${routes.size} paths`)
  const wrong: string[] = []
  for (const [path, existing] of routes) {
    for (const method of methods) {
      if (existing.includes(method)) continue
      const { status, headers } = await gateway.http(path, { method })
      const allow = (headers.get('allow') ?? '').split(', ').filter((name) => name !== 'HEAD')
      if (status !== 405 || allow.toSorted().join() !== existing.toSorted().join())
        wrong.push(`${method} ${path}: ${status} ${allow}, not ${existing}`)
    }
  }
  assert.deepEqual(wrong, [])
})

test('a path that does not exist is not found, whatever the method', async (t) => {
  const gateway = await startTestGateway(t, { config: { platforms: { api_server: { enabled: true } } } })
  const paths = [
    '/api/sessions/0/nothing',
    '/api/sessions/',
    '/api/uploads/0/1',
    '/v1/runs/0/nothing',
    '/api/workspaces/acp',
  ]
  for (const path of paths)
    for (const method of methods) assert.equal((await gateway.http(path, { method })).status, 404, `${method} ${path}`)
})
