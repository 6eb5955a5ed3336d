import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { createHomeLayout } from '../../src/lib/home.ts'
import { readDaemonAddress, removePidFile, writePidFile } from '../../src/lib/pid-file.ts'
import { tempHome } from '../kit/temp-home.ts'

test('a daemon removes its own pid file, but not that of a daemon that started after it', (t) => {
  const home = createHomeLayout(tempHome(t))
  writePidFile(home, { pid: 11, url: 'http://127.0.0.1:1' })
  writePidFile(home, { pid: 22, url: 'http://127.0.0.1:2' })
  removePidFile(home, 11)
  assert.deepEqual(readDaemonAddress(home), { pid: 22, url: 'http://127.0.0.1:2' })
  removePidFile(home, 22)
  removePidFile(home, 22)
  assert.equal(readDaemonAddress(home), undefined)
  assert.equal(existsSync(home.pidFile), false)
})
