/**
 * Shows who may call the gateway: every address of the HTTP server, for programs and other agents as well as for the page.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { publicAddresses, servedAddresses } from './endpoints.ts'

test('every address needs the token of the gateway, except the page without data and the state of health', async (t) => {
  const gateway = await startTestGateway(t)
  const { url } = gateway.current()
  assert.ok(url)
  // The page appears when its platform has connected.
  while ((await fetch(url)).status === 503);
  const credentials = [{}, { authorization: 'Bearer wrong' }, { authorization: 'Bearer ', cookie: 'token=x' }]
  for (const address of servedAddresses()) {
    for (const method of ['GET', 'POST']) {
      for (const headers of credentials) {
        const response = await fetch(`${url}${address}`, { method, headers })
        await response.body?.cancel()
        const isOpen = publicAddresses.includes(address) && method === 'GET'
        if (isOpen) assert.equal(response.ok, true, address)
        else assert.ok([401, 405].includes(response.status), `${method} ${address}: ${response.status}`)
      }
    }
  }
})
