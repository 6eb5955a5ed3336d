import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionFailure } from '../../../../../plugins/environments/ssh/failure.ts'

const failureOf = (path: string) =>
  connectionFailure(
    {
      host: 'host.example',
      hostKeys: 'strict',
      user: undefined,
      port: undefined,
      keyFile: undefined,
      knownHostsFile: undefined,
    },
    [
      'WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!',
      `Offending ED25519 key in ${path}:1`,
      `  ssh-keygen -f '${path}' -R 'host.example'`,
    ].join('\r\n'),
  )

test('a path with letters outside ASCII can be copied from an error of ssh, whatever the locale of the gateway', () => {
  const { message, hint } = failureOf('/home/J\\303\\266rg/.ssh/known_hosts')
  assert.match(message, /key is in \/home\/Jörg\/\.ssh\/known_hosts:1/)
  assert.match(hint ?? '', /ssh-keygen -f '\/home\/Jörg\/\.ssh\/known_hosts' -R/)
})

test('bytes that are no letters stay escaped in an error of ssh', () => {
  for (const escaped of ['\\033[31m', '\\302\\233', '\\303', '\\342\\200\\256'])
    assert.ok(failureOf(`/${escaped}/known_hosts`).message.includes(escaped), escaped)
})
