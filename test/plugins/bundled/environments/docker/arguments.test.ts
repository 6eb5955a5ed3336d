/**
 * The command line of a container, without an engine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planArguments } from '../../../../../plugins/environments/docker/arguments.ts'
import { agentConfig } from '../../../../../src/agent/config.ts'

function argumentsFor(changes: object, platform: NodeJS.Platform = 'linux') {
  const settings = agentConfig.terminal.parse(changes)
  const line = planArguments(
    {
      settings,
      owner: { home: 'h', profile: 'default', conversation: 'shared' },
      folders: undefined,
      mountedCwd: undefined,
      attachments: { source: '/home/mia/.hermes/media', target: '/media' },
      machine: { platform, userHome: '/home/mia', user: { uid: 7, gid: 8 } },
    },
    new Set(),
  )
  return ` ${line.join(' ')} `
}

test('the limits, the user and the folders of the settings are on the command line, and own arguments come last', () => {
  const line = argumentsFor({
    container_cpu: 2,
    container_memory: 512,
    docker_run_as_host_user: true,
    docker_network: false,
    docker_volumes: ['~/data:/data:ro'],
    docker_extra_args: ['--dns', '192.0.2.1'],
  })
  for (const part of ['--cpus 2', '--memory 512m', '--user 7:8', '--network none', '--volume /home/mia/data:/data:ro'])
    assert.ok(line.includes(` ${part} `), part)
  assert.ok(line.endsWith(' --dns 192.0.2.1 '))
})

test('a disk limit is asked for only where engines have one', () => {
  assert.ok(argumentsFor({ container_disk: 100 }).includes(' --storage-opt size=100m '))
  assert.ok(!argumentsFor({ container_disk: 100 }, 'darwin').includes('--storage-opt'))
})
