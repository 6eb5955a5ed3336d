/**
 * The local files that may be sent to a chat.
 */
import assert from 'node:assert/strict'
import { linkSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { accessOf, hiddenReason, type SandboxView, toHostPath } from '../../../src/agent/sandbox/sandbox.ts'
import { createAttachmentPolicy } from '../../../src/flows/chat/attachment-policy.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createSecretFilter } from '../../../src/lib/redact.ts'
import type { Authority } from '../../../src/message/authority.ts'
import { rolesSchema } from '../../../src/platforms/config.ts'
import { tempHome } from '../../kit/temp-home.ts'

const secret = 'Zürich-4711-correct-horse'

function rulesFor(t: TestContext, sandbox: Parameters<typeof createAttachmentPolicy>[2] = async () => undefined) {
  const userHome = realpathSync(tempHome(t))
  const home = createHomeLayout(join(userHome, '.hermes'))
  const config = { environment: () => ({ values: { HOME: userHome } }) }
  const gateway = { home, config, settings: () => ({ roles: rolesSchema.parse({}) }), log: silentLog }
  const rules = createAttachmentPolicy(
    gateway,
    createSecretFilter(() => [secret]),
    sandbox,
  )
  const write = (path: string, content = 'content') => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    return path
  }
  return { rules, userHome, home, write }
}

test('no file with secrets is sent', async (t) => {
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
    assert.notEqual(await rules.denialReason(write(path)), undefined, path)
  }
  for (const path of ['/etc/passwd', '/proc/self/environ', '/dev/null']) {
    assert.notEqual(await rules.denialReason(path), undefined, path)
  }
})

test('copies and links of secrets, keys, histories and the log are not sent', async (t) => {
  const { rules, userHome, home, write } = rulesFor(t)
  const linked = join(userHome, 'project/harmless.txt')
  write(linked)
  write(home.envFile)
  mkdirSync(join(userHome, 'links'))
  linkSync(home.envFile, join(userHome, 'links/harmless.txt'))
  const key = `-----BEGIN ${'OPENSSH'} PRIVATE KEY-----\nAAAA\n`
  for (const path of [
    join(userHome, 'links/harmless.txt'),
    write(`${home.databaseFile}-journal`),
    write(`${home.databaseFile}.bak`),
    write(`${home.configFile}.old`),
    write(join(home.logs, 'gateway.log')),
    write(join(userHome, '.bash_history')),
    write(join(userHome, 'project/production.env')),
    write(join(userHome, '.config/rclone/rclone.conf')),
    write(join(userHome, 'project/deploy'), key),
  ]) {
    assert.notEqual(await rules.denialReason(path), undefined, path)
  }
  assert.equal(await rules.denialReason(linked), undefined)
})

test('files that the agent has created may be sent', async (t) => {
  const { rules, userHome, home, write } = rulesFor(t)
  for (const path of [
    join(userHome, 'chart.png'),
    join(userHome, 'project/.env.example'),
    join(home.media, 'voice.ogg'),
    join(home.root, 'notes.md'),
    join(userHome, '.cache/pictures/chart.png'),
    join(userHome, 'project/.hidden/chart.png'),
  ]) {
    assert.equal(await rules.denialReason(write(path)), undefined, path)
  }
  assert.equal(rules.userHome, userHome)
})

test('a file that contains a secret of the gateway is not sent, whatever its name', async (t) => {
  const { rules, userHome, write } = rulesFor(t)
  const path = (name: string) => join(userHome, 'project', name)
  const filler = 'x'.repeat(262_144)
  for (const [name, content] of Object.entries({
    'copy.txt': `STRIPE=${secret}\n`,
    'notes.md': Buffer.from(`user:${secret}`).toString('base64'),
    'reversed.txt': [...secret].reverse().join(''),
    'dump.hex': Buffer.from(secret).toString('hex'),
    'between-two-pieces.bin': `${filler.slice(10)}${secret}${filler}`,
  })) {
    assert.equal(await rules.denialReason(write(path(name), content)), 'it may hold secrets', name)
  }
  assert.equal(await rules.denialReason(write(path('harmless.txt'), `${filler}${secret.slice(0, 20)}`)), undefined)
})

test('a path below /tmp names the file that commands of the agent see there', async (t) => {
  const privateTmp = realpathSync(tempHome(t))
  const view: SandboxView = { hidden: [], readOnly: [], writable: [], privateTmp }
  const { rules } = rulesFor(t, async () => ({
    view,
    toHostPath: (path) => toHostPath(view, path),
    accessOf: (path) => accessOf(view, path),
    hiddenReason: (path) => hiddenReason(view, path),
  }))
  writeFileSync(join(privateTmp, 'chart.png'), 'a picture')
  symlinkSync('/tmp/chart.png', join(privateTmp, 'latest.png'))
  assert.equal(await rules.locate('/tmp/chart.png'), join(privateTmp, 'chart.png'))
  assert.equal(await rules.locate('/var/tmp/latest.png'), join(privateTmp, 'chart.png'))
  assert.equal(await rules.locate('/usr/../etc/passwd'), '/etc/passwd')
  symlinkSync('../../../../../../etc/shadow', join(privateTmp, 'out'))
  const escaped = await rules.locate('/tmp/out')
  assert.equal(escaped, '/etc/shadow')
  assert.notEqual(await rules.denialReason(escaped), undefined)
})

test('a person who may not read the disk is sent what the agent has written, and no other file', async (t) => {
  const { rules, userHome, home, write } = rulesFor(t)
  const thesis = write(join(userHome, 'documents/thesis.txt'))
  const [chart, picture] = [write(join(home.workspace, 'chart.png')), write(join(home.media, 'picture.png'))]
  const by = (role: Authority['role'], chatType: Authority['chatType']): Authority => ({
    ...{ role, chatType, platform: 'fake' },
  })
  for (const authority of [by('guest', 'dm'), by('guest', 'group'), by('member', 'group')]) {
    assert.notEqual(await rules.denialReason(thesis, thesis, authority), undefined)
    for (const path of [chart, picture]) assert.equal(await rules.denialReason(path, path, authority), undefined)
  }
  for (const authority of [by('member', 'dm'), by('owner', 'group'), undefined])
    assert.equal(await rules.denialReason(thesis, thesis, authority), undefined)
  for (const name of ['memories/USER.md', 'profiles/work/state.db', 'plugins/a/settings.json']) {
    const path = write(join(home.root, name))
    assert.notEqual(await rules.denialReason(path, path, by('owner', 'dm')), undefined, name)
  }
})
