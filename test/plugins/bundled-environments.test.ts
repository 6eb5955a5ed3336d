import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { agentConfig } from '../../src/agent/config.ts'
import { bundledKinds } from '../../src/agent/environments/kinds.ts'
import { silentLog } from '../../src/lib/log.ts'
import { loadBundledEnvironment } from '../../src/plugins/bundled-environments.ts'
import { discoverPlugins } from '../../src/plugins/discovery.ts'
import { openEnvironment, toRequest } from '../kit/environment-kind.ts'

const plugins = fileURLToPath(new URL('../../plugins', import.meta.url))

for (const name of bundledKinds)
  test(`terminal.backend: ${name} works without an entry in plugins.enabled, with the defaults of its settings`, async () => {
    const kind = await loadBundledEnvironment(name)
    const settings = z.object(agentConfig).parse({ terminal: { backend: name, ssh_host: 'example.org' } }).terminal
    const request = toRequest({
      sessionId: 'session-1',
      cwd: '',
      settings,
      gatewayEnv: {},
      variables: {},
      withheld: [],
      home: '/nowhere',
      stateDirectory: '/nowhere/state',
      attachmentsDirectory: '/nowhere/media',
      log: silentLog,
    })
    assert.equal(openEnvironment(kind, request).kind, name)
    assert.ok(kind.check !== undefined && kind.recover !== undefined)
  })

test('environments of the gateway are in no list of plugins that people enable', () => {
  const { plugins: found, invalid } = discoverPlugins([{ path: plugins, origin: 'bundled' }])
  const names = readdirSync(`${plugins}/environments`)
  for (const name of bundledKinds) assert.ok(names.includes(name), name)
  assert.deepEqual(
    [...found, ...invalid].filter(({ id }) => id.startsWith('environments')),
    [],
  )
})
