import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { homeWith, startHermes } from './support.ts'

/** A new PID namespace, as in a container: the program is process 1 in it. */
const alone = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child']
const [unshare = '', ...options] = alone
const possible = spawnSync(unshare, [...options, 'true']).status === 0
const skip = possible ? false : 'a process space of its own cannot be had here (unshare)'

test('as process 1 the daemon runs, SIGUSR1 restarts it, and SIGTERM stops it with exit code 0', {
  skip,
}, async (t) => {
  const home = homeWith(t)
  const daemon = startHermes(t, ['gateway', 'run'], { home: home.root, under: alone })
  await daemon.waitForOutput('"event":"gateway.ready"')
  assert.match(readFileSync(home.pidFile, 'utf8'), /^1\b/)
  const outside = daemon.child.pid
  const inside = Number(readFileSync(`/proc/${outside}/task/${outside}/children`, 'utf8'))
  // The kernel ignores signals to process 1 that have no handler.
  process.kill(inside, 'SIGUSR1')
  await daemon.waitForOutput('"event":"gateway.restarted"')
  while (daemon.text().split('"event":"gateway.ready"').length <= 2) await setTimeout(20)
  assert.match(readFileSync(home.pidFile, 'utf8'), /^1\b/)
  process.kill(inside, 'SIGTERM')
  assert.equal((await daemon.exited).code, 0)
  assert.match(daemon.text(), /"event":"gateway\.stopped"/)
  assert.equal(existsSync(home.pidFile), false)
})
