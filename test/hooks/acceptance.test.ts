/**
 * The ways to accept all programs of the configuration at once (contract §2.7).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'

const program = { command: 'sh -c \'echo "{\\"decision\\":\\"handled\\",\\"message\\":\\"mine\\"}"\'' }
const path = process.env['PATH'] ?? ''

const acceptanceOptions: Readonly<Record<string, TestGatewayOptions>> = {
  'hermes gateway run --accept-hooks': { gateway: { acceptHooks: true } },
  'HERMES_ACCEPT_HOOKS=1': { gateway: { environment: { PATH: path, HERMES_ACCEPT_HOOKS: '1' } } },
  'HERMES_ACCEPT_HOOKS=true': { gateway: { environment: { PATH: path, HERMES_ACCEPT_HOOKS: 'true' } } },
  'hooks_auto_accept: true': { config: { hooks_auto_accept: true } },
}

for (const [way, options] of Object.entries(acceptanceOptions)) {
  test(`${way} lets every program of the configuration run`, async (t) => {
    const gateway = await startTestGateway(t, {
      ...options,
      config: { ...options.config, hooks: { 'command:version': [program] } },
    })
    await gateway.say('/version')
    await gateway.waitForReply('mine')
  })
}

test('without consent no program runs, and HERMES_ACCEPT_HOOKS=0 gives none', async (t) => {
  for (const environment of [{ PATH: path }, { PATH: path, HERMES_ACCEPT_HOOKS: '0' }]) {
    const gateway = await startTestGateway(t, {
      gateway: { environment },
      config: { hooks: { 'command:version': [program] } },
    })
    await gateway.say('/version')
    await gateway.waitForReply('0.0.0-test')
    assert.match(await gateway.waitForLog('hook.not_accepted'), /hermes hooks accept command:version\/sh/)
  }
})
