import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createServices, type Service } from '../../src/app/services.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createLog } from '../../src/lib/log-writer.ts'

const request = { isRestart: false, graceMs: 0, until: 0 }

function recorded(calls: string[], name: string, changes: Partial<Service> = {}): Service {
  return {
    name,
    start: () => void calls.push(`start ${name}`),
    reconfigured: ([path = '']) => void calls.push(`${path} ${name}`),
    stop: () => void calls.push(`stop ${name}`),
    ...changes,
  }
}

function recordingLog() {
  const lines: string[] = []
  const log = createLog({
    level: 'error',
    pretty: false,
    redactor: (text) => text,
    stream: { write: (line: string) => void lines.push(line) },
  })
  return { lines, log }
}

test('services start in order, hear of changes in order, and stop once in the reverse order', async () => {
  const calls: string[] = []
  const services = createServices(silentLog)
  await services.start([recorded(calls, 'database')])
  await services.start([recorded(calls, 'engine'), recorded(calls, 'platforms')])
  services.reconfigured(['model'])
  await Promise.all([services.stop(request), services.stop(request)])
  assert.deepEqual(calls, [
    ...['start database', 'start engine', 'start platforms'],
    ...['model database', 'model engine', 'model platforms'],
    ...['stop platforms', 'stop engine', 'stop database'],
  ])
})

test('a service whose start fails is stopped with those before it, and those after it are not started', async () => {
  const calls: string[] = []
  const services = createServices(silentLog)
  const failing = recorded(calls, 'http', { start: () => Promise.reject(new Error('the port is in use')) })
  const starting = services.start([recorded(calls, 'database'), failing, recorded(calls, 'platforms')])
  await assert.rejects(starting, /the port is in use/)
  await services.stop(request)
  assert.deepEqual(calls, ['start database', 'stop http', 'stop database'])
})

test('a stop that fails or does not end is logged once and keeps no other service', async () => {
  const calls: string[] = []
  const { lines, log } = recordingLog()
  const services = createServices(log, 10)
  await services.start([
    recorded(calls, 'lock'),
    recorded(calls, 'hanging', { stop: () => new Promise(() => undefined) }),
    {
      name: 'group',
      parts: [
        recorded(calls, 'failing', { stop: () => Promise.reject(new Error('it is broken')) }),
        recorded(calls, 'throwing', {
          stop() {
            throw new Error('it is broken, too')
          },
        }),
        recorded(calls, 'http'),
      ],
    },
  ])
  calls.splice(0)
  await services.stop(request)
  assert.deepEqual(calls, ['stop http', 'stop lock'])
  const failures = lines.map((line): unknown => JSON.parse(line).service)
  assert.deepEqual(failures.toSorted(), ['failing', 'hanging', 'throwing'])
})
