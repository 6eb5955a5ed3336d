/**
 * The configuration section of the module.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { z } from 'zod'
import { httpConfig } from '../../src/http/config.ts'

it('without configuration the gateway listens only on loopback', () => {
  assert.deepEqual(httpConfig.http.parse(undefined), {
    host: '127.0.0.1',
    port: 8642,
    allowed_hosts: [],
    allowed_origins: [],
    metrics: false,
    max_body_mb: 10,
  })
})

for (const wrong of [{ port: 70_000 }, { port: 1.5 }, { host: '' }, { token: 'short' }, { max_body_mb: 0 }]) {
  it(`refuses ${JSON.stringify(wrong)}`, () => {
    assert.equal(httpConfig.http.safeParse(wrong).success, false)
  })
}

it('every key has a description, which the reference page shows', () => {
  const { properties = {} } = z.toJSONSchema(httpConfig.http, { io: 'input' })
  for (const [key, schema] of Object.entries(properties)) {
    assert.ok(typeof schema === 'object' && schema.description !== undefined, key)
  }
})
