import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { agentConfig } from '../../../src/agent/config.ts'
import type { EnvironmentKind } from '../../../src/agent/environments/kind.ts'
import { recoverEnvironments } from '../../../src/flows/environments/remote-environments.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { tempHome } from '../../kit/temp-home.ts'

test('containers that an earlier run has left are looked for after terminal.backend has changed', async (t) => {
  const home = createHomeLayout(tempHome(t))
  mkdirSync(join(home.root, 'sandboxes', 'docker'), { recursive: true })
  const recovered: string[] = []
  const kind = (name: string): EnvironmentKind => ({
    create: () => assert.fail('no command runs'),
    recover: async () => void recovered.push(name),
  })
  const names = ['docker', 'singularity', 'ssh']
  await recoverEnvironments({
    home,
    settings: () => z.object(agentConfig).parse({}),
    environment: () => ({ process: {}, file: {} }),
    withheld: [],
    environmentKinds: new Map(names.map((name) => [name, Promise.resolve(kind(name))])),
    log: silentLog,
  })
  assert.deepEqual(recovered, ['docker'])
})
