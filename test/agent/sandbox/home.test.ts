/**
 * A home in the sandbox is empty but for what is named, whatever lies in it.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { type TestContext, test } from 'node:test'
import { isTemporary } from '../../../src/agent/sandbox/sandbox.ts'
import { HermesError } from '../../../src/lib/errors.ts'
import { findProgram } from '../../../src/lib/find-program.ts'
import { credentialFiles } from './credential-files.ts'
import { canary, createVictim, sandboxSkip, searchPath, type Victim, type VictimOptions } from './victim.ts'

const withoutGit = findProgram('git', searchPath) === undefined && 'install git'

async function openVictim(t: TestContext, options: VictimOptions): Promise<Victim> {
  const victim = await createVictim(options)
  t.after(() => victim[Symbol.asyncDispose]())
  return victim
}

for (const setting of ['bwrap', 'landlock'] as const) {
  const skip = await sandboxSkip(setting)

  test(`no command and no file tool reads a credential in the home (${setting})`, { skip }, async (t) => {
    assert.ok(credentialFiles.length >= 95)
    const files = { ...Object.fromEntries(credentialFiles.map((name) => [name, canary])), 'project/.env': 'MINE=1\n' }
    const victim = await openVictim(t, { setting, workingDirectory: 'project', files })
    const paths = credentialFiles.map((name) => join(victim.userHome, name))
    const { output } = await victim.run(`cat ${paths.join(' ')} 2>/dev/null; grep -rs ${canary} ~; cat .env`)
    assert.equal(output, 'MINE=1\n')
    for (const path of paths) {
      const read = await victim.fileGuard.checkRead(path)
      assert.equal(read.ok ? 'readable' : read.code, 'hidden', path)
    }
  })

  // Homes in a folder for temporary files are hidden with it. The test makes its homes in the checkout.
  const skipHomes = skip || (isTemporary(import.meta.dirname) && 'run this in a checkout outside of /tmp')

  test(`the home of another user is hidden wherever it lies (${setting})`, { skip: skipHomes }, async (t) => {
    const other = mkdtempSync(join(import.meta.dirname, '../../../.victim-'))
    t.after(() => rmSync(other, { recursive: true }))
    mkdirSync(join(other, 'ada/work'), { recursive: true })
    mkdirSync(join(other, 'site'))
    for (const name of ['ada/work/key', 'site/index']) writeFileSync(join(other, name), name)
    const users = join(other, 'passwd')
    writeFileSync(users, `web:x:33:33::${other}/site:/bin/sh\nada:x:1000:1000:Ada:${other}/ada:/bin/sh\n+::::::\n`)
    const victim = await openVictim(t, { setting, users })
    const { output } = await victim.run(`cat ${other}/ada/work/key ${other}/site/index 2>/dev/null`)
    assert.equal(output, 'site/index')
    const read = await victim.fileGuard.checkRead(join(other, 'ada/work/key'))
    assert.equal(read.ok ? 'readable' : read.code, 'hidden')
  })

  test(`what is listed and toolchains are readable, and not writable (${setting})`, { skip }, async (t) => {
    const files = {
      '.cargo/bin/tool': '#!/bin/sh\necho runs\n',
      '.cargo/credentials.toml': canary,
      'notes/a': 'a note\n',
      'notes/.netrc': 'in the list\n',
    }
    const victim = await openVictim(t, { setting, workingDirectory: 'project', files, read: ['~/notes'] })
    const { output } = await victim.run(
      `~/.cargo/bin/tool; cat ~/notes/a; cat ~/.cargo/credentials.toml; echo x > ~/notes/b; echo x >> ~/.cargo/bin/tool; mkdir ~/new; echo end`,
    )
    assert.match(output, /^runs\na note\n/)
    assert.match(output, /end\n$/)
    assert.ok(!output.includes(canary))
    for (const name of ['notes/b', 'new']) assert.ok(!existsSync(join(victim.userHome, name)), name)
    assert.equal(readFileSync(join(victim.userHome, '.cargo/bin/tool'), 'utf8'), files['.cargo/bin/tool'])
  })

  test(`of a home that is the working directory, what begins with a dot is hidden (${setting})`, {
    skip,
  }, async (t) => {
    const files = { '.newtool/token': canary, '.local/bin/runs': '#!/bin/sh\necho runs\n', 'work/a': 'mine\n' }
    const victim = await openVictim(t, { setting, workingDirectory: '.', files })
    const { output } = await victim.run(
      'cat ~/.newtool/token; ~/.local/bin/runs; cat work/a; echo x > work/b; cat work/b',
    )
    assert.match(output, /runs\nmine\nx\n$/)
    assert.ok(!output.includes(canary))
  })

  test(`a working directory that is hidden is called hidden, and one that is missing missing (${setting})`, {
    skip,
  }, async (t) => {
    const victim = await openVictim(t, { setting, workingDirectory: 'project', files: { 'elsewhere/a': 'a' } })
    const { userHome } = victim
    const codeOf = async (cwd: string) => {
      const failure = await victim.run('pwd', { cwd }).then(
        () => undefined,
        (error: unknown) => error,
      )
      return failure instanceof HermesError ? failure.code : failure
    }
    assert.equal(await codeOf(join(userHome, 'elsewhere')), 'terminal/hidden-folder')
    assert.equal(await codeOf(join(userHome, 'project/missing')), 'terminal/no-folder')
    if (setting === 'landlock') return
    const temporary = mkdtempSync('/tmp/hermes-test-')
    t.after(() => rmSync(temporary, { recursive: true }))
    assert.equal(await codeOf(temporary), 'terminal/hidden-folder')
  })

  test(`git works without the settings of the user (${setting})`, { skip: skip || withoutGit }, async (t) => {
    const victim = await openVictim(t, { setting, workingDirectory: 'project', files: { '.gitconfig': '[core]\n' } })
    const { output, exitCode } = await victim.run('git init -q . && git status --short && echo done')
    assert.deepEqual([output, exitCode], ['done\n', 0])
  })
}

/** Connects to a socket as a program of the agent would, and says whether it could. */
const connect = `require('node:net').connect({ path: process.argv[1].replace('@', '\\0') }, () => { console.log('open'); process.exit() }).on('error', (error) => console.log(error.code))`

async function listen(t: TestContext, path: string): Promise<void> {
  const server = createServer().listen({ path })
  await once(server, 'listening')
  t.after(() => server.close())
}

const bwrapSkip = await sandboxSkip('bwrap')

test('a command reaches no Unix socket in the home', { skip: bwrapSkip }, async (t) => {
  const victim = await openVictim(t, { setting: 'bwrap', workingDirectory: 'project' })
  const path = join(victim.userHome, '.gnupg/S.gpg-agent')
  await listen(t, path)
  assert.equal((await victim.run(`${process.execPath} -e "${connect}" ${path}`)).output, 'ENOENT\n')
})

for (const setting of ['bwrap', 'landlock'] as const)
  test(`a command reaches no abstract Unix socket (${setting})`, {
    skip: (await sandboxSkip(setting)) || (await withoutScopes()),
  }, async (t) => {
    const victim = await openVictim(t, { setting, workingDirectory: 'project' })
    const name = `hermes-test-${process.pid}-${setting}`
    await listen(t, `\0${name}`)
    const command = `${process.execPath} -e "${connect}" @${name}`
    assert.equal((await victim.run(command, { outsideSandbox: true })).output, 'open\n')
    assert.equal((await victim.run(command)).output, 'EPERM\n')
  })

/** Whether the kernel restricts abstract sockets (Landlock ABI 6); else the reason for which the test is skipped. */
async function withoutScopes(): Promise<string | false> {
  const { status, stdout } = spawnSync('perl', ['-e', 'print syscall(444, 0, 0, 1)'], { encoding: 'utf8' })
  return status === 0 && Number(stdout) >= 6 ? false : 'install Perl on Linux 6.12 or newer'
}
