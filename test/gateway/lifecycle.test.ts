import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { announceDaemon, findDaemon, withdrawDaemon } from '../../src/gateway/lifecycle.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { tempHome } from '../kit/temp-home.ts'

test('a daemon takes its own note along, and leaves that of the one that came after it', (t) => {
  const home = createHomeLayout(tempHome(t))
  announceDaemon(home, { pid: 11, url: 'http://127.0.0.1:1' })
  announceDaemon(home, { pid: 22, url: 'http://127.0.0.1:2' })
  withdrawDaemon(home, 11)
  assert.deepEqual(findDaemon(home), { pid: 22, url: 'http://127.0.0.1:2' })
  withdrawDaemon(home, 22)
  withdrawDaemon(home, 22)
  assert.equal(findDaemon(home), undefined)
  assert.equal(existsSync(home.pidFile), false)
})
