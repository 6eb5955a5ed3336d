/**
 * The gateway as a user service of systemd.
 */
import { join } from 'node:path'
import { HermesError } from '../../lib/errors.ts'
import { exitCodes } from '../../lib/exit-codes.ts'
import type { ProgramResult } from '../kit/run-program.ts'
import { marker, type ServiceDefinition, type ServiceManager } from './service-manager.ts'

export interface SystemdOptions {
  readonly definition: ServiceDefinition
  /** `$XDG_CONFIG_HOME`, or its default. */
  readonly configDirectory: string
  readonly userName: string
  /** Runs a program of the PATH. */
  readonly run: (name: string, args: readonly string[]) => Promise<ProgramResult>
}

export function createSystemdManager({ definition, configDirectory, userName, run }: SystemdOptions): ServiceManager {
  const service = `hermes-gateway${definition.suffix}.service`
  const systemctl = async (...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run('systemctl', ['--user', ...words])
    if (code === 0) return stdout
    throw systemctlError(words, stderr.trim() || stdout.trim() || `exit code ${code}`)
  }
  return {
    name: 'systemd',
    service,
    file: join(configDirectory, 'systemd', 'user', service),
    text: unitText(definition, service),
    async state() {
      const names = ['ActiveState', 'SubState', 'MainPID', 'UnitFileState', 'NRestarts', 'Result']
      const shown = await systemctl('show', service, `--property=${names.join(',')}`)
      const values = Object.fromEntries(
        shown.split('\n').map((line) => [line.split('=')[0], line.replace(/^\w*=/, '')]),
      )
      const { ActiveState: active = '', SubState: sub = '', MainPID: pid = '', UnitFileState: file = '' } = values
      const { NRestarts: restarts = '0', Result: result = '' } = values
      const details = [
        `${active} (${sub})`,
        ...(restarts === '0' ? [] : [`${restarts} restarts`]),
        ...(result === 'success' || result === '' ? [] : [result]),
      ]
      return {
        enabled: file === 'enabled',
        active: active === 'active',
        pid: Number(pid) > 0 ? Number(pid) : undefined,
        detail: details.join(', '),
      }
    },
    async enable() {
      await systemctl('daemon-reload')
      await systemctl('enable', service)
    },
    async start(restart) {
      await systemctl(restart ? 'restart' : 'start', service)
    },
    async disable() {
      // A unit that failed too often stays in the list of failures otherwise.
      await run('systemctl', ['--user', 'reset-failed', service])
      await systemctl('disable', '--now', service)
    },
    async forget() {
      await systemctl('daemon-reload')
    },
    async bootAdvice() {
      const command = `sudo loginctl enable-linger ${userName}`
      try {
        const shown = await run('loginctl', ['show-user', userName, '--property=Linger'])
        if (shown.stdout.trim() === 'Linger=yes') return undefined
        // Many systems let users do it for themselves.
        if ((await run('loginctl', ['enable-linger', userName])).code === 0) return undefined
      } catch {
        // Without loginctl there is no more than the advice.
      }
      return `It runs only while you are logged in. For a start at boot: ${command}`
    },
    logCommand: ({ follow, lines }) => [
      ...['journalctl', '--user', '--unit', service, '--lines', String(lines), '--no-pager'],
      ...(follow ? ['--follow'] : []),
    ],
  }
}

function systemctlError(words: readonly string[], reason: string): HermesError {
  const detail = `systemctl --user ${words.join(' ')}: ${reason}`
  if (!/connect to.*bus|No medium found|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR/i.test(reason))
    return new HermesError('service/failed', detail)
  return new HermesError('service/unavailable', detail, {
    hint: 'The service manager of this user does not run. Log in as the user itself (not with su or sudo), or run `sudo loginctl enable-linger <user>` and set XDG_RUNTIME_DIR=/run/user/<its id>.',
  })
}

function unitText({ home, command, variables, stopSeconds }: ServiceDefinition, service: string): string {
  return `# ${marker}, which also replaces it. Your changes: systemctl --user edit ${service}
[Unit]
Description=hermes-gateway, ${escapeSpecifiers(home)}
StartLimitIntervalSec=600
StartLimitBurst=10

[Service]
Type=exec
ExecStart=${command.map((word) => quote(word.replaceAll('$', '$$$$'))).join(' ')}
${Object.entries(variables)
  .map(([name, value]) => `Environment=${quote(`${name}=${value}`)}`)
  .join('\n')}
Restart=on-failure
RestartSec=5
# The configuration has to be corrected first.
RestartPreventExitStatus=${exitCodes.config}
# Running turns may end; the gateway itself ends what its tools have started.
KillMode=mixed
TimeoutStopSec=${stopSeconds}

[Install]
WantedBy=default.target
`
}

function escapeSpecifiers(text: string): string {
  return text.replaceAll('%', '%%')
}

function quote(word: string): string {
  const escaped = escapeSpecifiers(word).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
  return /^[\w@%+=:,./$-]+$/.test(escaped) ? escaped : `"${escaped}"`
}
