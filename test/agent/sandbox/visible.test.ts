/**
 * What a command sees of a home that contains links, changes while the gateway runs, or lies below `/tmp`, and which sockets and
 * services it reaches.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { type TestContext, test } from 'node:test'
import { HermesError } from '../../../src/lib/errors.ts'
import { canary, createVictim, sandboxSkip, type Victim, type VictimOptions } from './victim.ts'

async function openVictim(t: TestContext, options: VictimOptions): Promise<Victim> {
  const victim = await createVictim(options)
  t.after(() => victim[Symbol.asyncDispose]())
  return victim
}

/** A server on a Unix socket, or on a port of 127.0.0.1. Returns the port. */
async function listen(t: TestContext, path?: string): Promise<number> {
  const server = createServer()
  if (path === undefined) server.listen(0, '127.0.0.1')
  else server.listen({ path })
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A command that connects as a program of the agent would, and says whether it could. */
const connecting = (target: object) =>
  `${process.execPath} -e 'require("node:net").connect(${JSON.stringify(target)}, () => { console.log("open"); process.exit() }).on("error", () => console.log("closed"))'`

for (const setting of ['bwrap', 'landlock'] as const) {
  const skip = await sandboxSkip(setting)

  test(`links in the home lead to what is listed (${setting})`, { skip }, async (t) => {
    const victim = await openVictim(t, {
      setting,
      workingDirectory: 'linked/project',
      read: ['~/notes'],
      files: { '.real/project/a': 'mine\n', '.real/notes/n': 'a note\n', '.tools/nvm/tool': '#!/bin/sh\necho runs\n' },
      prepare(userHome) {
        symlinkSync('.real', join(userHome, 'linked'))
        symlinkSync('.real/notes', join(userHome, 'notes'))
        symlinkSync('.tools/nvm', join(userHome, '.nvm'))
        writeFileSync(join(userHome, '.real/secret'), canary)
      },
    })
    const { output } = await victim.run(
      'cat a; cat ~/notes/n; ~/.nvm/tool; pwd; cat ../secret ~/.real/secret 2>/dev/null',
    )
    assert.equal(output, `mine\na note\nruns\n${victim.cwd}\n`)
  })

  test(`a file with a dot that appears later in an open home is hidden (${setting})`, { skip }, async (t) => {
    const victim = await openVictim(t, { setting, workingDirectory: '.' })
    mkdirSync(join(victim.userHome, '.newtool'))
    writeFileSync(join(victim.userHome, '.newtool/token'), canary)
    const { output } = await victim.run('cat ~/.newtool/token 2>/dev/null; echo end')
    assert.equal(output, 'end\n')
    const read = await victim.fileGuard.checkRead(join(victim.userHome, '.newtool/token'))
    assert.equal(read.ok ? 'readable' : read.code, 'hidden')
  })

  test(`a command reaches no Unix socket of the home, of /run or of /tmp (${setting})`, { skip }, async (t) => {
    const victim = await openVictim(t, { setting, workingDirectory: 'project' })
    const directory = mkdtempSync('/tmp/hermes-socket-')
    t.after(() => rmSync(directory, { recursive: true }))
    for (const path of [join(victim.userHome, '.gnupg/S'), join(directory, 's')]) {
      await listen(t, path)
      assert.equal((await victim.run(connecting({ path }), { outsideSandbox: true })).output, 'open\n')
      assert.equal((await victim.run(connecting({ path }))).output, 'closed\n', path)
    }
  })

  test(`a listed socket can be reached (${setting})`, { skip }, async (t) => {
    const victim = await openVictim(t, {
      setting,
      workingDirectory: 'project',
      files: { 'run/keep': '' },
      write: ['~/run'],
    })
    const path = join(victim.userHome, 'run/s')
    await listen(t, path)
    // Landlock cannot tell sockets apart, so only a socket that is listed itself opens them.
    const expected = setting === 'bwrap' ? 'open\n' : 'closed\n'
    assert.equal((await victim.run(connecting({ path }))).output, expected)
    const listed = await openVictim(t, {
      setting,
      workingDirectory: 'project',
      prepare: (userHome) => void symlinkSync(path, join(userHome, 'socket')),
      write: ['~/socket'],
    })
    assert.equal((await listed.run(connecting({ path: join(listed.userHome, 'socket') }))).output, 'open\n')
  })

  test(`a working directory in the /tmp of this machine is called hidden, and works when it is listed (${setting})`, {
    skip,
  }, async (t) => {
    const directory = mkdtempSync('/tmp/hermes-outside-')
    t.after(() => rmSync(directory, { recursive: true }))
    const victim = await openVictim(t, { setting })
    const answer = victim.run('pwd', { cwd: directory })
    if (setting === 'landlock') assert.equal((await answer).output, `${directory}\n`)
    else
      await assert.rejects(answer, (error) => {
        assert.ok(error instanceof HermesError && error.code === 'terminal/hidden-folder')
        assert.ok(error.message.includes(directory) && error.hint.includes('terminal.sandbox_write'))
        return true
      })
    await assert.rejects(victim.run('pwd', { cwd: `${directory}-missing` }), { code: 'terminal/no-folder' })
    const listed = await openVictim(t, { setting, write: [directory] })
    assert.equal((await listed.run('pwd', { cwd: directory })).output, `${directory}\n`)
    assert.equal((await listed.run('echo x > a; cat a', { cwd: directory })).output, 'x\n')
  })
}

/** A new directory with a file `key`, which the command of a test must not read. */
function makeSecret(t: TestContext, parent: string): string {
  const directory = mkdtempSync(join(parent, 'hermes-secret-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'key'), canary)
  return directory
}

const withoutRun = await access('/run', constants.W_OK).then(
  () => false,
  () => 'only root may write /run',
)

for (const setting of ['bwrap', 'landlock'] as const)
  test(`secrets of containers and services below /run are hidden from commands and file tools (${setting})`, {
    skip: (await sandboxSkip(setting)) || withoutRun,
  }, async (t) => {
    const directory = makeSecret(t, '/run')
    const victim = await openVictim(t, { setting })
    assert.equal((await victim.run(`cat ${directory}/key 2>/dev/null; echo end`)).output, 'end\n')
    for (const path of [directory, directory.replace('/run', '/var/run')])
      await assert.rejects(victim.run('pwd', { cwd: path }), { code: 'terminal/hidden-folder' })
    const read = await victim.fileGuard.checkRead(join(directory, 'key'))
    assert.equal(read.ok ? 'readable' : read.code, 'hidden')
    const listed = await openVictim(t, { setting, read: [directory] })
    assert.equal((await listed.run('cat key', { cwd: directory })).output, canary)
  })

for (const setting of ['bwrap', 'landlock'] as const)
  test(`a command sees no environment of another process, and no device of the machine (${setting})`, {
    skip: await sandboxSkip(setting),
  }, async (t) => {
    const victim = await openVictim(t, { setting })
    const other = spawn('sleep', ['600'], { env: { PATH: process.env['PATH'], KEY: canary } })
    t.after(() => other.kill())
    await once(other, 'spawn')
    const capabilities = await victim.run(
      `grep CapEff /proc/self/status; tr '\\0' '\\n' < /proc/${other.pid}/environ | grep KEY`,
    )
    assert.doesNotMatch(capabilities.output, new RegExp(canary))
    // Root has those for files of other users: CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_FOWNER.
    assert.match(capabilities.output, /CapEff:\s0{15}[0-389ab]\n/)
    const disks = readdirSync('/dev').flatMap((name) => {
      const path = join('/dev', name)
      return statSync(path, { throwIfNoEntry: false })?.isBlockDevice() === true ? [path] : []
    })
    const { output } = await victim.run(
      `for disk in ${disks.join(' ')}; do head -c 1 $disk | wc -c; done 2>/dev/null | grep -c 1; head -c 9 /dev/urandom > /dev/null && echo x > /dev/null && echo end`,
    )
    assert.equal(output, '0\nend\n')
  })

const skip = await sandboxSkip('bwrap')

test('what bubblewrap replaces is called hidden, also at the end of a link', { skip }, async (t) => {
  const [temporary, shared] = [makeSecret(t, '/tmp'), makeSecret(t, '/dev/shm')]
  const victim = await openVictim(t, {
    setting: 'bwrap',
    workingDirectory: 'project',
    prepare(userHome) {
      mkdirSync(join(userHome, 'project'))
      symlinkSync(temporary, join(userHome, 'project/link'))
    },
  })
  for (const directory of [temporary, shared, join(victim.cwd, 'link')]) {
    await assert.rejects(victim.run('pwd', { cwd: directory }), (error) => {
      assert.ok(error instanceof HermesError && error.code === 'terminal/hidden-folder')
      assert.ok(error.message.includes(directory) && error.hint.includes('terminal.sandbox_write'))
      return true
    })
    const read = await victim.fileGuard.checkRead(join(directory, 'key'))
    assert.equal(read.ok ? 'readable' : read.code, 'hidden', directory)
  }
  assert.equal((await victim.run('echo x > /dev/shm/a; cat /dev/shm/a')).output, 'x\n')
  const listed = await openVictim(t, { setting: 'bwrap', write: [shared] })
  assert.equal((await listed.run('cat key', { cwd: shared })).output, canary)
})

test('a service at 127.0.0.1 is reached with the network, and not without it', { skip }, async (t) => {
  const port = await listen(t)
  const command = connecting({ host: '127.0.0.1', port })
  for (const [sharesNetwork, expected] of [
    [true, 'open\n'],
    [false, 'closed\n'],
  ] as const) {
    const victim = await openVictim(t, { setting: 'bwrap', sharesNetwork })
    assert.equal((await victim.run(command)).output, expected)
  }
})

test('a command in Landlock has no other way to a Unix socket: pairs for datagrams, io_uring or 32-bit calls', {
  skip: await sandboxSkip('landlock'),
}, async (t) => {
  const victim = await openVictim(t, { setting: 'landlock' })
  const numbers = process.arch === 'x64' ? { socket: 41, socketpair: 53 } : { socket: 198, socketpair: 199 }
  // Domain AF_UNIX, types SOCK_STREAM and SOCK_DGRAM; each prints whether the call was refused.
  const script = `my $fds = pack("x8"); for ([${numbers.socket}, 1, 1, 0, 0], [${numbers.socketpair}, 1, 2, 0, $fds], [425, 1, $fds, 0, 0], [${numbers.socketpair}, 1, 1, 0, $fds], [${numbers.socket}, 2, 1, 0, 0]) { print syscall($$_[0], $$_[1], $$_[2], $$_[3], $$_[4]) < 0 ? "refused\\n" : "open\\n" }`
  writeFileSync(join(victim.cwd, 'calls.pl'), script)
  assert.equal((await victim.run('perl calls.pl')).output, 'refused\nrefused\nrefused\nopen\nopen\n')
})
