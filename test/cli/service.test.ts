import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { defineService } from '../../src/cli/service/service-manager.ts'
import { createSystemdManager } from '../../src/cli/service/systemd.ts'
import {
  type ServiceMachine,
  serviceInstall,
  serviceLogs,
  serviceStatus,
  serviceUninstall,
} from '../../src/cli/service.ts'
import { daemonAllocator, daemonFlags } from '../kit/daemon-command.ts'
import { tempHome } from '../kit/temp-home.ts'
import { createTestContext, mainFile, startDaemon } from './support.ts'

/** What `npm start` runs, too. */
const command = [process.execPath, ...daemonFlags, mainFile, 'gateway', 'run']

const linux: ServiceMachine = { platform: 'linux', userId: 1000, userName: 'anna' }
const mac: ServiceMachine = { platform: 'darwin', userId: 501, userName: 'anna' }

/** Remembers what it is asked, and whether the service is enabled and runs, in files beside it. */
const standIns = {
  systemctl: `#!/bin/sh
cd "$(dirname "$0")"
echo "systemctl $*" >> calls
[ -e no-bus ] && { echo 'Failed to connect to bus: No medium found' >&2; exit 1; }
case "$2" in
  enable) touch enabled ;;
  disable) rm -f enabled active ;;
  start|restart) touch active ;;
  show)
    if [ -e active ]; then echo ActiveState=active; echo SubState=running; echo MainPID=4242
    else echo ActiveState=inactive; echo SubState=dead; echo MainPID=0; fi
    if [ -e enabled ]; then echo UnitFileState=enabled; else echo UnitFileState=; fi
    echo NRestarts=2; echo Result=success ;;
esac
`,
  loginctl: `#!/bin/sh
cd "$(dirname "$0")"
echo "loginctl $*" >> calls
case "$1" in
  show-user) if [ -e linger ]; then echo Linger=yes; else echo Linger=no; fi ;;
  enable-linger) [ -e no-right ] && exit 1; touch linger ;;
esac
`,
  journalctl: `#!/bin/sh
echo "journalctl $*"
`,
  launchctl: `#!/bin/sh
cd "$(dirname "$0")"
echo "launchctl $*" >> calls
case "$1" in
  print) [ -e loaded ] || exit 113; echo "	state = running"; echo "	pid = 4243" ;;
  bootstrap) [ -e loaded ] && { echo 'Bootstrap failed: 5: Input/output error' >&2; exit 5; }; touch loaded ;;
  bootout) rm loaded ;;
esac
exit 0
`,
}

/** A user with a home, and a PATH with the programs of the service manager alone. */
function openMachine(t: TestContext, machine: ServiceMachine) {
  const user = tempHome(t)
  const programs = join(user, 'programs')
  mkdirSync(programs)
  for (const [name, text] of Object.entries(standIns)) {
    writeFileSync(join(programs, name), text)
    chmodSync(join(programs, name), 0o755)
  }
  const home = join(user, '.hermes')
  const environment = { HOME: user, HERMES_HOME: home, PATH: `${programs}:/usr/bin:/bin`, TZ: 'UTC' }
  const run = async (work: (context: ReturnType<typeof createTestContext>) => Promise<void>, more = {}) => {
    const context = createTestContext(home, { environment: { ...environment, ...more } })
    await work(context)
    return {
      code: context.exitCode,
      stdout: String(context.output.read() ?? ''),
      stderr: String(context.errors.read() ?? ''),
    }
  }
  return {
    home,
    mark: (name: string) => writeFileSync(join(programs, name), ''),
    unit: join(user, '.config/systemd/user/hermes-gateway.service'),
    agent: join(user, 'Library/LaunchAgents/org.hermes-gateway.plist'),
    calls: () => {
      const file = join(programs, 'calls')
      const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
      writeFileSync(file, '')
      return lines.filter((line) => line !== '' && !/ show | print |show-user/.test(line))
    },
    install: (options = {}, more = {}) =>
      run((context) => serviceInstall(context, { print: false, start: true, ...options }, machine), more),
    uninstall: () => run((context) => serviceUninstall(context, machine)),
    status: async () => {
      const { code, stdout } = await run((context) => serviceStatus(context, { json: true }, machine))
      return { code, ...JSON.parse(stdout) }
    },
    logs: () => run((context) => serviceLogs(context, { follow: true, lines: 5 }, machine)),
  }
}

test('install writes a unit that runs what `hermes gateway run` becomes, enables it and starts it', async (t) => {
  const { unit, home, ...machine } = openMachine(t, linux)
  const { code, stdout, stderr } = await machine.install()
  assert.deepEqual([code, stderr], [0, ''])
  assert.ok(stdout.includes(unit))
  assert.deepEqual(machine.calls(), [
    'systemctl --user daemon-reload',
    'systemctl --user enable hermes-gateway.service',
    'systemctl --user start hermes-gateway.service',
    'loginctl enable-linger anna',
  ])
  const text = readFileSync(unit, 'utf8')
  assert.ok(text.includes(`ExecStart=${command.join(' ')}\n`), text)
  for (const [name, value] of Object.entries({ ...daemonAllocator, HERMES_HOME: home }))
    assert.ok(text.includes(`Environment=${name}=${value}\n`), name)
  assert.match(text, /^Restart=on-failure$/m)
  assert.match(text, /^RestartPreventExitStatus=78$/m)
  assert.match(text, /^WantedBy=default\.target$/m)
  const { installed, current, active, enabled, pid } = await machine.status()
  assert.deepEqual(
    { installed, current, active, enabled, pid },
    { installed: true, current: true, active: true, enabled: true, pid: 4242 },
  )
})

test('a second install changes nothing, one after a change restarts the service', async (t) => {
  const machine = openMachine(t, linux)
  await machine.install()
  const first = readFileSync(machine.unit, 'utf8')
  machine.calls()
  const again = await machine.install()
  assert.equal(readFileSync(machine.unit, 'utf8'), first)
  assert.deepEqual([again.code, machine.calls().filter((line) => / (re)?start /.test(line))], [0, []])
  writeFileSync(join(machine.home, 'config.yaml'), 'agent: {drain_timeout: 77}\n')
  assert.equal((await machine.status()).current, false)
  await machine.install()
  assert.match(readFileSync(machine.unit, 'utf8'), /^TimeoutStopSec=92$/m)
  assert.ok(machine.calls().includes('systemctl --user restart hermes-gateway.service'))
})

test('without the right to linger, it says the command that gives it', async (t) => {
  const machine = openMachine(t, linux)
  machine.mark('no-right')
  const { code, stderr } = await machine.install()
  assert.equal(code, 0)
  assert.ok(stderr.includes('sudo loginctl enable-linger anna'))
})

test('uninstall stops the service and removes its file; a second time there is nothing to do', async (t) => {
  const machine = openMachine(t, linux)
  await machine.install()
  writeFileSync(join(machine.home, 'config.yaml'), 'model: x\n')
  machine.calls()
  assert.equal((await machine.uninstall()).code, 0)
  assert.equal(existsSync(machine.unit), false)
  assert.equal(existsSync(join(machine.home, 'config.yaml')), true)
  assert.deepEqual(machine.calls(), [
    'systemctl --user reset-failed hermes-gateway.service',
    'systemctl --user disable --now hermes-gateway.service',
    'systemctl --user daemon-reload',
  ])
  assert.equal((await machine.uninstall()).code, 0)
  assert.deepEqual(machine.calls(), [])
  const status = await machine.status()
  assert.deepEqual([status.code, status.installed], [3, false])
})

test('a file of another program, and a machine without a service manager, are left as they are', async (t) => {
  const machine = openMachine(t, linux)
  mkdirSync(join(machine.unit, '..'), { recursive: true })
  writeFileSync(machine.unit, '[Unit]\nDescription=Hermes Agent\n')
  await assert.rejects(machine.install(), { code: 'service/foreign' })
  await assert.rejects(machine.uninstall(), { code: 'service/foreign' })
  assert.equal(readFileSync(machine.unit, 'utf8'), '[Unit]\nDescription=Hermes Agent\n')
  const other = openMachine(t, linux)
  other.mark('no-bus')
  await assert.rejects(other.install(), { code: 'service/unavailable' })
  assert.equal(existsSync(other.unit), false)
  await assert.rejects(other.install({}, { PATH: '/nowhere' }), { code: 'service/unavailable' })
  await assert.rejects(openMachine(t, { ...linux, platform: 'win32' }).install(), { code: 'service/unavailable' })
})

test('--print and --no-start do no more than they say, and a key of this shell alone is named', async (t) => {
  const machine = openMachine(t, linux)
  const printed = await machine.install({ print: true })
  assert.match(printed.stdout, /^ExecStart=/m)
  assert.deepEqual([machine.calls(), existsSync(machine.unit)], [[], false])
  const { stderr } = await machine.install({ start: false }, { OPENAI_API_KEY: 'sk-canary-0123456789' })
  assert.deepEqual(
    machine.calls().filter((line) => / start /.test(line)),
    [],
  )
  assert.ok(stderr.includes('OPENAI_API_KEY') && !stderr.includes('sk-canary'))
  assert.ok(!readFileSync(machine.unit, 'utf8').includes('sk-canary'))
})

test('while a gateway runs in this home outside of the service, it is not started a second time', async (t) => {
  const machine = openMachine(t, linux)
  mkdirSync(machine.home)
  writeFileSync(join(machine.home, 'config.yaml'), 'http: {port: 0}\nterminal: {sandbox: off}\n')
  await startDaemon(t, machine.home)
  const { code, stderr } = await machine.install()
  assert.equal(code, 0)
  assert.ok(stderr.includes('hermes gateway stop'))
  assert.deepEqual(
    machine.calls().filter((line) => / start /.test(line)),
    [],
  )
})

test('service logs asks the service manager for this service', async (t) => {
  const { stdout } = await openMachine(t, linux).logs()
  assert.equal(stdout, 'journalctl --user --unit hermes-gateway.service --lines 5 --no-pager --follow\n')
})

test('on macOS an agent of launchd is loaded once, replaced when it has changed, and unloaded', async (t) => {
  const machine = openMachine(t, mac)
  assert.equal((await machine.install()).code, 0)
  const label = 'gui/501/org.hermes-gateway'
  assert.deepEqual(machine.calls(), [
    `launchctl enable ${label}`,
    `launchctl bootstrap gui/501 ${machine.agent}`,
    `launchctl kickstart ${label}`,
  ])
  const text = readFileSync(machine.agent, 'utf8')
  const strings = [...text.matchAll(/<string>(.*)<\/string>/g)].map(([, value]) => value)
  for (const word of [...command, ...Object.values(daemonAllocator), machine.home])
    assert.ok(strings.includes(word), word)
  assert.match(text, /<key>RunAtLoad<\/key>\s*<true\/>/)
  assert.match(text, /<key>SuccessfulExit<\/key>\s*<false\/>/)
  assert.equal((await machine.install()).code, 0)
  assert.deepEqual(machine.calls(), [`launchctl enable ${label}`])
  writeFileSync(join(machine.home, 'config.yaml'), 'agent: {drain_timeout: 77}\n')
  await machine.install()
  assert.ok(machine.calls().includes(`launchctl bootout ${label}`))
  assert.equal((await machine.status()).pid, 4243)
  await machine.uninstall()
  assert.deepEqual([machine.calls(), existsSync(machine.agent)], [[`launchctl bootout ${label}`], false])
})

test('each home has a service of its own, and unusual paths are quoted', () => {
  const define = (home: string) =>
    defineService({
      home,
      program: ['/opt/my node', mainFile],
      environment: { PATH: '/bin' },
      userHome: '/home/anna',
      drainSeconds: 30,
    })
  assert.equal(define('/home/anna/.hermes').suffix, '')
  assert.equal(define('/home/anna/.hermes/profiles/work').suffix, '-work')
  assert.match(define('/srv/Bot Home').suffix, /^-bothome-[0-9a-f]{8}$/)
  assert.notEqual(define('/srv/a/bot').suffix, define('/srv/b/bot').suffix)
  const { text } = createSystemdManager({
    definition: define('/srv/100% "$HOME"'),
    configDirectory: '/c',
    userName: 'anna',
    run: async () => ({ code: 0, stdout: '', stderr: '' }),
  })
  assert.ok(text.includes('ExecStart="/opt/my node" '))
  assert.ok(text.includes(String.raw`Environment="HERMES_HOME=/srv/100%% \"$HOME\""`))
})
