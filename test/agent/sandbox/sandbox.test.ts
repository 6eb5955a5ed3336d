import assert from 'node:assert/strict'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { createFileGuard } from '../../../src/agent/command-policy/file-guard.ts'
import { searchWithRipgrep } from '../../../src/agent/environments/search/ripgrep.ts'
import { bubblewrapCommand } from '../../../src/agent/sandbox/bubblewrap.ts'
import { landlockCommand } from '../../../src/agent/sandbox/landlock.ts'
import { accessOf } from '../../../src/agent/sandbox/sandbox.ts'
import { seatbeltProfile } from '../../../src/agent/sandbox/seatbelt.ts'
import { computeSandboxView } from '../../../src/agent/sandbox/view.ts'
import { findProgram } from '../../../src/lib/find-program.ts'
import { canary, createVictim, sandboxSkip, searchPath } from './victim.ts'

const skip = await sandboxSkip()
const isWritable = (path: string) => {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** A bit of LANDLOCK_ACCESS_FS. */
const makeRegular = 1 << 8

describe('the view of the sandbox', () => {
  const viewOf = (
    victim: { home: string; userHome: string },
    cwd: string,
    more: { read?: string[]; write?: string[]; skills?: string[] },
  ) => computeSandboxView({ ...victim, cwd, read: [], write: [], searchPath, privateTmp: undefined, ...more })

  test('the home of the gateway and private directories are hidden, also inside the working directory', async () => {
    await using victim = await createVictim({ setting: 'seatbelt' })
    const { userHome } = victim
    const view = viewOf(victim, userHome, {})
    for (const name of ['.hermes', '.hermes/.env', '.ssh/id_ed25519', '.config/autostart/b', '.zshenv'])
      assert.equal(accessOf(view, join(userHome, name)), 'hidden', name)
    assert.equal(accessOf(view, '/etc/shadow'), 'hidden')
    for (const path of [userHome, join(userHome, 'bin')]) assert.equal(accessOf(view, path), 'readOnly', path)
    assert.equal(accessOf(view, join(userHome, 'documents/thesis.txt')), 'writable')
  })

  test('a work folder of the system is not writable, unless it is listed', async () => {
    await using victim = await createVictim({ setting: 'seatbelt' })
    for (const cwd of ['/', '/usr', '/etc', '/etc/nginx', '/var', '/var/lib', '/home', '/opt', '/usr/local']) {
      const view = viewOf(victim, cwd, {})
      for (const path of [cwd, join(cwd, 'new'), '/etc/passwd', '/usr/lib/x', '/var/lib/x', victim.userHome])
        assert.notEqual(accessOf(view, path), 'writable', `${cwd}: ${path}`)
    }
    for (const cwd of ['/srv/site', '/opt/project', '/var/www/site', '/home/someone/project'])
      assert.equal(accessOf(viewOf(victim, cwd, {}), join(cwd, 'new')), 'writable', cwd)
    assert.equal(accessOf(viewOf(victim, '/opt', { write: ['/opt'] }), '/opt/new'), 'writable')
  })

  test('no setting opens what the gateway loads', async () => {
    await using victim = await createVictim({ setting: 'seatbelt' })
    const { home, userHome } = victim
    const all = ['~/.hermes', home, join(home, 'plugins'), join(home, 'config.yaml'), join(home, 'hooks/x'), '/', '~']
    for (const cwd of [home, join(home, 'plugins')]) {
      const view = viewOf(victim, cwd, { read: all, write: all })
      for (const name of ['', 'plugins/evil', 'config.yaml', '.env', 'hooks/x', 'cache/compile'])
        assert.equal(accessOf(view, join(home, name)), 'hidden', `${cwd}: ${name}`)
    }
    const view = viewOf(victim, join(home, 'project'), {
      write: ['~/.ssh/config', '/srv/data'],
      read: ['~/.config/gh'],
    })
    assert.equal(accessOf(view, join(home, 'project/a')), 'writable')
    assert.equal(accessOf(view, join(userHome, '.ssh/config')), 'writable')
    assert.equal(accessOf(view, join(userHome, '.ssh/id_ed25519')), 'hidden')
    assert.equal(accessOf(view, join(userHome, '.config/gh/hosts.yml')), 'readOnly')
    assert.equal(accessOf(view, '/srv/data/a'), 'writable')
  })

  test('the folders of skills are readable, and nothing else with them', async () => {
    await using victim = await createVictim({ setting: 'seatbelt' })
    const { home, userHome, cwd } = victim
    const [external, ofPlugin] = [join(userHome, '.claude', 'skills'), join(home, 'plugins', 'mine', 'wiki')]
    const folders = [external, ofPlugin, join(home, 'plugins'), join(userHome, '.ssh'), userHome, home]
    for (const folder of [external, ofPlugin, join(cwd, 'skills')]) mkdirSync(folder, { recursive: true })
    writeFileSync(join(ofPlugin, 'SKILL.md'), '')
    const view = viewOf(victim, cwd, { skills: [...folders, cwd, join(cwd, 'skills')] })
    assert.equal(accessOf(view, join(cwd, 'a')), 'writable')
    for (const path of [join(external, 'a/x.sh'), join(ofPlugin, 'x.sh'), join(cwd, 'skills/x.sh')])
      assert.equal(accessOf(view, path), 'readOnly', path)
    for (const path of ['.ssh/id_ed25519', '.claude/credentials'].map((name) => join(userHome, name)))
      assert.equal(accessOf(view, path), 'hidden', path)
    for (const path of [join(home, '.env'), join(ofPlugin, '../index.ts')])
      assert.equal(accessOf(view, path), 'hidden', path)
    const rules = landlockCommand(view, 'perl', ['true'], { cwd }).join(' ')
    for (const folder of [external, ofPlugin]) assert.ok(rules.includes(`:${folder} `), folder)
  })

  test('the homes of the other profiles are hidden from a profile, and what it uses itself is not', async () => {
    await using victim = await createVictim({ setting: 'seatbelt' })
    const { userHome } = victim
    const root = join(userHome, 'agents')
    const [own, other] = ['coder', 'writer'].map((name) => join(root, 'profiles', name))
    assert.ok(own !== undefined && other !== undefined)
    for (const home of [own, other]) mkdirSync(join(home, 'workspace'), { recursive: true })
    for (const home of [own, other]) writeFileSync(join(home, 'profile.json'), '{}')
    const cwd = join(own, 'workspace')
    const view = viewOf({ home: own, userHome }, cwd, { read: [root, other], write: [join(root, 'hooks'), other] })
    for (const path of [root, join(root, '.env'), other, join(other, 'workspace/a'), join(root, 'hooks/x')])
      assert.equal(accessOf(view, path), 'hidden', path)
    assert.equal(accessOf(view, join(cwd, 'a')), 'writable')
    assert.equal(accessOf(view, join(own, '.env')), 'hidden')
  })

  test('the program, its packages and Node are read-only in a working directory that contains them', async () => {
    await using victim = await createVictim({ setting: 'seatbelt' })
    const project = join(victim.userHome, 'project')
    const view = (program: string) =>
      computeSandboxView({
        ...{ ...victim, cwd: project, read: [], write: [dirname(process.execPath)], searchPath, privateTmp: undefined },
        program: join(project, program),
      })
    const installed = view('node_modules/hermes-gateway')
    for (const path of ['node_modules/zod/index.js', 'node_modules/hermes-gateway/src/main.mjs'])
      assert.equal(accessOf(installed, join(project, path)), 'readOnly', path)
    assert.equal(accessOf(installed, process.execPath), 'readOnly')
    assert.equal(accessOf(installed, join(project, 'src/a.js')), 'writable')
    assert.equal(accessOf(view('gateway'), join(project, 'node_modules/bufferutil')), 'readOnly')
  })

  test('Landlock gets rules for what is around a hidden path, never for the path or a directory above it', async () => {
    await using victim = await createVictim({ setting: 'seatbelt' })
    const { home, userHome, cwd } = victim
    const args = landlockCommand(viewOf(victim, cwd, {}), 'perl', ['true'], { cwd })
    const rules = args.filter((arg) => /^\d+:\//.test(arg)).map((arg) => arg.split(':'))
    const paths = rules.map(([, path]) => path)
    for (const path of ['/', userHome, home, join(userHome, 'documents'), join(home, 'plugins')])
      assert.ok(!paths.includes(path), path)
    assert.ok(paths.includes('/usr'))
    const writable = rules.flatMap(([access, path = '']) => ((Number(access) & makeRegular) === 0 ? [] : [path]))
    assert.deepEqual(
      writable.filter((path) => path.startsWith(userHome)),
      [cwd],
    )
  })

  test('a directory around a hidden path is a mount point also in a writable folder of /tmp, so that it cannot be renamed', (t) => {
    const root = realpathSync(mkdtempSync('/tmp/hermes-around-'))
    t.after(() => rmSync(root, { recursive: true }))
    const [work, secret] = [join(root, 'work'), join(root, 'work/share/keyrings')]
    mkdirSync(secret, { recursive: true })
    const view = { hidden: [secret], readOnly: [], writable: [work], privateTmp: root }
    const options = { program: 'bwrap', sharesNetwork: true, isRoot: false }
    const mounted = bubblewrapCommand(view, options, ['true'], { cwd: work })
    const around = join(work, 'share')
    assert.ok(mounted.join(' ').includes(`--bind ${around} ${around} `))
    const hiddenOnly = { ...view, writable: [], hidden: [work] }
    assert.ok(
      !bubblewrapCommand(hiddenOnly, options, ['true'], { cwd: '/' }).join(' ').includes(`--bind ${root} ${root} `),
    )
  })

  test('Seatbelt gets the rule of a longer path last', async () => {
    await using victim = await createVictim({ setting: 'seatbelt' })
    const profile = seatbeltProfile(viewOf(victim, victim.userHome, {}), { sharesNetwork: false }, [])
    const at = (path: string) => profile.indexOf(`(subpath ${JSON.stringify(path)})`)
    assert.ok(at(victim.userHome) >= 0 && at(victim.userHome) < at(victim.home))
    assert.match(profile, /\(deny network\*\)/)
    const around = seatbeltProfile(
      viewOf(victim, join(victim.userHome, 'project'), { write: ['~/.local'] }),
      { sharesNetwork: true },
      [],
    )
    assert.ok(around.includes(`(deny file-write-unlink (literal "${join(victim.userHome, '.local/share')}"))`))
  })
})

describe('the file guard with a sandbox', { skip }, () => {
  test('hidden files are called hidden, and writing elsewhere names the setting that allows it', async () => {
    await using victim = await createVictim()
    const { home, userHome, cwd, sandbox } = victim
    const guard = createFileGuard({ home, userHome, sandbox: async () => sandbox })
    symlinkSync(join(userHome, '.ssh'), join(cwd, 'keys'))
    symlinkSync('/tmp/../../etc', join(cwd, 'etc'))
    const media = join(home, 'media/1-1-aa.png')
    const codeOf = (found: Awaited<ReturnType<typeof guard.checkRead>>) => (found.ok ? 'ok' : found.code)
    assert.equal(codeOf(await guard.checkRead(join(cwd, 'keys/id_ed25519'))), 'hidden')
    assert.equal(codeOf(await guard.checkRead(media)), 'hidden')
    assert.equal(codeOf(await guard.checkRead(media, async () => [media])), 'ok')
    assert.equal(codeOf(await guard.checkRead('/etc/hostname')), 'ok')
    assert.equal(codeOf(await guard.checkWrite(join(cwd, 'etc/x'))), 'protected')
    const refused = await guard.checkWrite(join(userHome, 'documents/thesis.txt'))
    assert.ok(!refused.ok && refused.code === 'outside_sandbox' && /terminal\.sandbox_write/.test(refused.reason))
    assert.equal(codeOf(await guard.checkWrite(join(cwd, 'new/file'))), 'ok')
  })

  test('a file tool and a command mean the same file by a path in /tmp', async () => {
    await using victim = await createVictim()
    const { home, userHome, sandbox } = victim
    const guard = createFileGuard({ home, userHome, sandbox: async () => sandbox })
    await victim.run(
      'mkdir /tmp/d; echo from the command > /tmp/d/a; ln -s /tmp/d/a /tmp/link; ln -s /etc/shadow /tmp/bad',
    )
    for (const path of ['/tmp/d/a', '/tmp/link', '/var/tmp/d/a']) {
      const found = await guard.checkRead(path)
      assert.equal(found.ok && readFileSync(found.path, 'utf8'), 'from the command\n', path)
    }
    assert.ok(!(await guard.checkRead('/tmp/bad')).ok)
    assert.ok(!existsSync('/tmp/d/a') && !existsSync('/tmp/link'))
  })
})

describe('a command in the sandbox', { skip }, () => {
  test('may write the working directory and /tmp, and sees neither the gateway nor other processes', async () => {
    await using victim = await createVictim()
    const before = victim.fingerprint()
    const { output, exitCode } = await victim.run(
      `echo a > here && echo b > /tmp/there && cat here /tmp/there; pwd; ls -A ~/.hermes ~/.hermes/cache/sandbox; ls /proc | grep -c '^[0-9]'; kill -0 ${process.pid} || echo no such process`,
    )
    assert.match(output, /^a\nb\n\S+\/workspace\n\S+:\ncache\nworkspace\n\n\S+:\nbin\n[3-6]\n.*no such process\n$/s)
    assert.equal(exitCode, 0)
    assert.equal(victim.fingerprint(), before)
  })

  test('keeps its exit code, its output order, its input and its timeout', async () => {
    await using victim = await createVictim()
    assert.equal((await victim.run('echo out; echo err >&2; exit 7')).output, 'out\nerr\n')
    assert.equal((await victim.run('exit 7')).exitCode, 7)
    assert.equal((await victim.run('sleep 60', { timeoutMs: 300 })).timedOut, true)
    const command = await victim.environment.spawn?.('read line; echo "got $line"; exit 4', {})
    assert.ok(command)
    let seen = ''
    command.onOutput((text) => {
      seen += text
    })
    command.write('hello\n')
    assert.deepEqual(await command.exited, { exitCode: 4 })
    assert.equal(seen, 'got hello\n')
  })

  test('has time to clean up when it is killed, and nothing of its namespace survives', async () => {
    await using victim = await createVictim()
    const command = await victim.environment.spawn?.(
      'trap "echo cleaned > trap; exit" TERM; (setsid sh -c "trap : TERM; while :; do sleep 0.02; date +%s%N > beat; done" &) ; touch ready; while :; do sleep 0.02; done',
      {},
    )
    assert.ok(command)
    const has = (name: string) => existsSync(join(victim.cwd, name))
    while (!has('ready') || !has('beat')) await new Promise((resolve) => setTimeout(resolve, 5))
    command.kill()
    await command.exited
    await victim.environment.cleanup()
    assert.equal(readFileSync(join(victim.cwd, 'trap'), 'utf8'), 'cleaned\n')
    const { output } = await victim.run('a=$(cat beat); sleep 0.3; [ "$a" = "$(cat beat)" ] && echo still')
    assert.equal(output, 'still\n')
  })

  test('a process that stays behind is reported, keeps running, and ends with the session', async () => {
    await using victim = await createVictim()
    const { output } = await victim.run('(while :; do sleep 0.02; date +%s%N > beat; done) >/dev/null 2>&1 &')
    assert.match(output, /^\n\[.+\]\n$/)
    const beat = () => readFileSync(join(victim.cwd, 'beat'), 'utf8')
    while (!existsSync(join(victim.cwd, 'beat'))) await new Promise((resolve) => setTimeout(resolve, 5))
    const first = beat()
    while (beat() === first) await new Promise((resolve) => setTimeout(resolve, 5))
    await victim.environment.cleanup()
    assert.equal(
      (await victim.run('a=$(cat beat); sleep 0.3; [ "$a" = "$(cat beat)" ] && echo still')).output,
      'still\n',
    )
  })

  test('the home of the user as working directory: entries without a dot are writable, the rest is not', async () => {
    await using victim = await createVictim({ workingDirectory: '' })
    const { output } = await victim.run(
      `echo x > documents/new && echo wrote; for f in .bashrc .zshenv .ssh/authorized_keys .hermes/config.yaml .config/autostart/b bin/x new; do (echo x > $f) 2>/dev/null && echo "OPEN $f"; done; cat .ssh/* .hermes/.env 2>/dev/null`,
    )
    assert.equal(output, 'wrote\n')
    assert.ok(!existsSync(join(victim.userHome, '.zshenv')), 'no empty files appear')
  })

  test('a command cannot move a hidden path away by the directory around it', async () => {
    await using victim = await createVictim({ write: ['~/.local'] })
    mkdirSync(join(victim.userHome, '.local/share/keyrings'), { recursive: true })
    writeFileSync(join(victim.userHome, '.local/share/keyrings/k'), canary)
    await victim.run('mv ~/.local/share ~/.local/other; echo x > ~/.local/share/new')
    const { output } = await victim.run('cat ~/.local/*/keyrings/k ~/.local/share/new 2>/dev/null')
    assert.equal(output, 'x\n')
  })

  test('with the whole disk writable, processes and devices of the machine stay out', async () => {
    await using victim = await createVictim({ write: ['/', '/proc'] })
    const { output } = await victim.run(
      `ls -d /proc/${process.pid} /proc/1/root/proc/${process.pid} 2>/dev/null; ls ~/.hermes/.env 2>/dev/null; echo x > /dev/null && test -w ~/documents && echo ready`,
    )
    assert.equal(output, 'ready\n')
  })

  test('with the whole disk writable, a home in /dev/shm, /run or /tmp does not bring back what the sandbox replaces', async () => {
    for (const directory of ['/dev/shm', '/run', '/tmp'].filter(isWritable)) {
      const parent = mkdtempSync(join(directory, 'home-'))
      try {
        const home = join(parent, 'me/.hermes')
        mkdirSync(home, { recursive: true })
        writeFileSync(join(home, '.env'), canary)
        writeFileSync(join(parent, 'beside'), canary)
        const place = { home, userHome: join(parent, 'me'), temporaryDirectory: join(home, 'cache/sandbox/tmp') }
        await using victim = await createVictim({ write: ['/'], ...place })
        const { output } = await victim.run(
          `cat ${home}/.env ${parent}/beside 2>/dev/null; echo x > /dev/null && echo ready`,
        )
        assert.equal(output, 'ready\n', directory)
      } finally {
        rmSync(parent, { recursive: true })
      }
    }
  })

  test('sandbox_read, sandbox_write and an exposed attachment open single paths', async () => {
    await using victim = await createVictim({ read: ['~/.config/gh'], write: ['~/documents'] })
    const { home } = victim
    const { output } = await victim.run(
      `cat ~/.config/gh/hosts.yml ${home}/media/1-1-aa.png; (echo x >> ~/.config/gh/hosts.yml) 2>/dev/null; echo y > ~/documents/new && echo wrote; cat ${home}/.env 2>/dev/null`,
      { exposed: [join(home, 'media/1-1-aa.png')] },
    )
    assert.equal(output, `SECRET=${canary}\nSECRET=${canary}\nwrote\n`)
  })

  test('outsideSandbox runs on the machine itself', async () => {
    await using victim = await createVictim()
    const { output } = await victim.run('cat ~/.hermes/.env', { outsideSandbox: true })
    assert.equal(output, `SECRET=${canary}\n`)
  })

  test('memory is limited', async () => {
    await using victim = await createVictim({ maxMemoryMb: 128 })
    const { exitCode } = await victim.run(`node=${process.execPath}; head -c 400M /dev/zero | tail -c 300M > /dev/null`)
    assert.notEqual(exitCode, 0)
  })

  test('without network no address can be reached', async () => {
    await using victim = await createVictim({ sharesNetwork: false })
    mkdirSync(join(victim.cwd, 'a'))
    writeFileSync(join(victim.cwd, 'a/b'), '')
    assert.match((await victim.run('cat /proc/net/dev')).output, /^Inter[^:]*\n[^:]*\n\s*lo:[^:]*$/)
  })

  test('a machine without a sandbox says what is missing', async () => {
    await using victim = await createVictim({ setting: 'seatbelt', platform: 'linux' })
    assert.equal(victim.sandbox.kind, 'none')
    assert.match(victim.sandbox.reason, /bubblewrap/)
  })
})

test('what a command left in /tmp does not keep the next sandbox from opening', async () => {
  await using victim = await createVictim({ setting: 'seatbelt', platform: 'linux' })
  const temporaryDirectory = join(victim.home, 'cache/sandbox/tmp')
  symlinkSync('circle', join(temporaryDirectory, 'circle'))
  symlinkSync('nowhere', join(temporaryDirectory, 'dangling'))
  writeFileSync(join(temporaryDirectory, 'old'), '')
  utimesSync(join(temporaryDirectory, 'old'), 1, 1)
  await using next = await createVictim({ setting: 'seatbelt', platform: 'linux', temporaryDirectory })
  assert.equal(next.sandbox.kind, 'none')
  assert.deepEqual(readdirSync(temporaryDirectory).sort(), ['circle', 'dangling'])
})

const ripgrep = findProgram('rg', searchPath)

test('ripgrep sees what commands see', {
  skip: skip || (ripgrep === undefined && 'ripgrep is not installed'),
}, async () => {
  await using victim = await createVictim()
  const folder = join(victim.home, 'cache/sandbox/tmp/notes')
  mkdirSync(folder)
  writeFileSync(join(folder, 'note.txt'), `begin ${canary}\n`)
  const search = (root: string) =>
    searchWithRipgrep(
      ripgrep ?? '',
      {
        root,
        target: 'content',
        pattern: canary,
        fileGlob: undefined,
        limit: 10,
        timeoutMs: 60_000,
        signal: new AbortController().signal,
        mayRead: () => true,
      },
      victim.sandbox,
    )
  assert.deepEqual(await search(victim.userHome), { ok: true, hits: [] })
  const hits = [{ path: join(folder, 'note.txt'), line: 1, text: `begin ${canary}` }]
  assert.deepEqual(await search(folder), { ok: true, hits })
})
