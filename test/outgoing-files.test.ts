/**
 * Which files of this machine may go to a chat.
 */
import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createHomeLayout } from '../src/lib/home.ts'
import { silentLog } from '../src/lib/log.ts'
import { createOutgoingFiles } from '../src/outgoing-files.ts'
import { tempHome } from './kit/temp-home.ts'

function rulesFor(t: TestContext) {
  const userHome = realpathSync(tempHome(t))
  const home = createHomeLayout(join(userHome, '.hermes'))
  const rules = createOutgoingFiles({
    home,
    environment: () => ({ values: { HOME: userHome } }),
    log: silentLog,
  })
  const write = (path: string) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, 'content')
    return path
  }
  return { rules, userHome, home, write }
}

test('no file that holds secrets leaves the machine', async (t) => {
  const { rules, userHome, home, write } = rulesFor(t)
  for (const path of [
    home.envFile,
    home.tokenFile,
    home.databaseFile,
    `${home.databaseFile}-wal`,
    home.configFile,
    join(userHome, '.ssh/id_ed25519'),
    join(userHome, '.aws/credentials'),
    join(userHome, '.netrc'),
    join(userHome, 'project/.env'),
    join(userHome, 'project/.env.local'),
  ]) {
    assert.equal(await rules.mayRead(write(path)), 'it may hold secrets', path)
  }
  for (const path of ['/etc/passwd', '/proc/self/environ', '/dev/null']) {
    assert.equal(await rules.mayRead(path), 'it may hold secrets', path)
  }
})

test('what the agent has made may go out', async (t) => {
  const { rules, userHome, home, write } = rulesFor(t)
  for (const path of [
    join(userHome, 'chart.png'),
    join(userHome, 'project/.env.example'),
    join(home.media, 'voice.ogg'),
    join(home.root, 'notes.md'),
  ]) {
    assert.equal(await rules.mayRead(write(path)), undefined, path)
  }
  assert.equal(rules.userHome, userHome)
})
