/**
 * The token of a bot is held by one home at a time, and a profile has a home and session keys of its own.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Gateway, startGateway } from '../../src/gateway.ts'
import { createHomeLayout, type HomeLayout } from '../../src/lib/home.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { rowsIn } from './support.ts'

/** The home of a profile with the configuration of the gateway of the test, hence with the same token. */
function addProfile({ home }: TestGateway, name: string, namespace = name): HomeLayout {
  const profile = createHomeLayout(join(home.root, 'profiles', name))
  mkdirSync(profile.root, { recursive: true, mode: 0o700 })
  cpSync(home.configFile, profile.configFile)
  cpSync(home.platforms, profile.platforms, { recursive: true })
  writeFileSync(profile.profileFile, JSON.stringify({ session_namespace: namespace }))
  return profile
}

/** @param environment says where the locks of the user are */
async function startOn(
  t: TestContext,
  home: HomeLayout,
  environment: Readonly<Record<string, string>>,
  log: string[],
): Promise<Gateway> {
  const gateway = await startGateway({
    home,
    version: '0.0.0-test',
    environment: { PATH: process.env['PATH'], ...environment },
    platformDirectories: [home.platforms],
    commandLine: [process.execPath],
    log: { pretty: false, level: 'debug', stream: { write: (line) => log.push(line) } },
  })
  t.after(() => gateway.stop(AbortSignal.abort()))
  await gateway.initialConnectsDone()
  return gateway
}

test('the second profile with a token says who holds it, whatever its environment is', async (t) => {
  const first = await startTestGateway(t)
  const other = addProfile(first, 'coder')
  const log: string[] = []
  const second = await startOn(t, other, { XDG_STATE_HOME: join(first.home.root, 'other-state') }, log)
  const account = second.status().platforms['fake']
  assert.equal(account?.state, 'failed')
  assert.ok(account?.reason?.includes(first.home.root) && account.reason.includes(String(process.pid)), account?.reason)
  assert.ok(log.some((line) => line.includes('"event":"platform.token_in_use"')))
  await first.say('hello')
  await first.waitForReply('hello')
})

test('a gateway that stops gives its token to the next one, whose conversations have the keys of its profile', async (t) => {
  const first = await startTestGateway(t)
  const renamed = addProfile(first, 'writer', 'coder')
  await first.stop()
  const second = await startOn(t, renamed, { HOME: first.home.root }, [])
  assert.equal(second.status().platforms['fake']?.state, 'connected')
  await first.platform.say('hello')
  await first.waitForReply('hello')
  await second.stop()
  const keys = rowsIn(renamed, 'select distinct session_key from inbox').map((row) => row['session_key'])
  assert.deepEqual(keys, ['agent:coder:fake:dm:chat'])
})
