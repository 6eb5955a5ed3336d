/**
 * The configuration of a running process follows changes of its files. Uses real files and real watchers.
 */
import assert from 'node:assert/strict'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createTestHome, formatAll } from './support.ts'

describe('a reload', () => {
  it('applies a valid file and reports which values changed', (t) => {
    const { config: write, load } = createTestHome(t)
    write('model: one\nhttp: {allowed_hosts: [a]}\n')
    const { config, lines } = load()
    const received: [string, readonly string[]][] = []
    const end = config.onChange((value, changed) => received.push([value.model, changed]))
    write('model: two\nhttp: {allowed_hosts: [a, b]}\nagent: {verbose: true}\n')
    config.reload()
    assert.deepEqual(received, [['two', ['agent.verbose', 'http.allowed_hosts', 'model']]])
    assert.equal(config.current().model, 'two')
    assert.ok(lines.some(({ event }) => event === 'config.reloaded'))
    end()
    write('model: three\n')
    config.reload()
    assert.equal(received.length, 1)
    assert.equal(config.current().model, 'three')
  })

  it('of a file whose values are unchanged notifies no listener', (t) => {
    const { config: write, load } = createTestHome(t)
    write('model: one\n')
    const { config, lines } = load()
    config.onChange(() => assert.fail('nothing has changed'))
    write('# a comment\nmodel: "one"\n')
    config.reload()
    assert.deepEqual(lines, [])
  })

  it('of a broken file changes only the state, which clears when the file is repaired', (t) => {
    const { config: write, load } = createTestHome(t)
    write('model: one\n')
    const { config, lines, messages } = load()
    config.onChange(() => assert.fail('nothing may change'))
    write('model: two\nhttp: {port: [}\n')
    assert.equal(config.reload(), config.state())
    assert.equal(config.current().model, 'one')
    assert.equal(config.state().source, 'file')
    assert.equal(config.state().degraded.length, 1)
    assert.equal(config.state().problems.length, 1)
    const before = messages().length
    config.reload()
    assert.equal(messages().length, before, 'the same complaint is logged once')
    write('model: one\n')
    config.reload()
    assert.deepEqual(config.state().degraded, [])
    assert.deepEqual(config.state().problems, [])
    assert.ok(lines.some(({ event }) => event === 'config.recovered'))
  })

  it('of a file with one bad value applies the others', (t) => {
    const { config: write, load } = createTestHome(t)
    write('model: one\nagent: {timeout: 5}\n')
    const { config, lines } = load()
    write('model: two\nagent: {timeout: never}\n')
    config.reload()
    assert.deepEqual([config.current().model, config.current().agent.timeout], ['two', 30])
    assert.deepEqual([config.state().problems.length, config.state().degraded.length], [1, 1])
    write('model: two\n')
    config.reload()
    assert.deepEqual(config.state().degraded, [])
    assert.ok(lines.some(({ event }) => event === 'config.recovered'))
  })

  it('of a deleted file keeps the running configuration', (t) => {
    const { layout, config: write, load } = createTestHome(t)
    write('model: one\n')
    const { config } = load()
    rmSync(layout.configFile)
    config.reload()
    assert.equal(config.current().model, 'one')
    assert.deepEqual(config.state().degraded, ['config.yaml is missing; the current configuration stays in use'])
    write('model: two\n')
    config.reload()
    assert.equal(config.current().model, 'two')
    assert.deepEqual(config.state().degraded, [])
  })

  it('applies a first file and writes the last good copy', (t) => {
    const { config: write, load } = createTestHome(t)
    const { config } = load()
    assert.equal(config.state().source, 'defaults')
    write('model: first\n')
    assert.equal(config.reload().source, 'file')
    write('model: [')
    assert.equal(load().config.current().model, 'first')
  })

  it('reports changes that require a restart until they are reverted', (t) => {
    const { config: write, load } = createTestHome(t)
    write('http: {port: 1}\n')
    const { config, lines } = load({}, { restartPaths: ['http.host', 'http.port', 'platforms'] })
    write('http: {port: 2}\nmodel: x\nplatforms: {chat: {enabled: true}}\n')
    config.reload()
    assert.deepEqual(config.state().pendingRestart, ['http.port', 'platforms.chat'])
    const line = lines.find(({ event }) => event === 'config.restart_required')
    assert.deepEqual(line?.['paths'], ['http.port', 'platforms.chat'])
    write('http: {port: 1}\nmodel: x\n')
    config.reload()
    assert.deepEqual(config.state().pendingRestart, [])
  })

  it('applies a changed .env: values that it sets, and variables that modules read', (t) => {
    const { env, load } = createTestHome(t)
    env('HERMES_LOG_LEVEL=warn\nOTHER=1\n')
    const { config } = load()
    const received: (readonly string[])[] = []
    config.onChange((_value, changed) => received.push(changed))
    env('HERMES_LOG_LEVEL=debug\nOTHER=2\n')
    config.reload()
    assert.equal(config.current().log.level, 'debug')
    assert.deepEqual(received, [['log.level', 'environment.HERMES_LOG_LEVEL', 'environment.OTHER']])
    assert.equal(config.environment().values['OTHER'], '2')
  })

  it('notifies the other listeners when one throws', (t) => {
    const { config: write, load } = createTestHome(t)
    const { config, lines } = load()
    let notifications = 0
    config.onChange(() => {
      throw new Error('a listener that fails')
    })
    config.onChange(() => {
      notifications += 1
    })
    write('model: x\n')
    config.reload()
    assert.equal(notifications, 1)
    assert.ok(lines.some(({ event }) => event === 'config.listener_failed'))
  })

  it('after a start on defaults applies the repaired file', (t) => {
    const { config: write, load } = createTestHome(t)
    write('model: [')
    const { config } = load({ CHAT_BOT_TOKEN: 'abcdefgh' })
    assert.deepEqual(config.current().platforms, {})
    write('model: x\n')
    config.reload()
    assert.equal(config.state().source, 'file')
    assert.equal(config.current().platforms.chat?.token, 'abcdefgh')
    assert.deepEqual(formatAll(config.state().problems), [])
  })
})

describe('watching', () => {
  it('applies a file that is written in place, replaced, broken and repaired, and .env beside it', async (t) => {
    const { layout, config: write, env, load } = createTestHome(t)
    write('model: one\n')
    const { config } = load()
    let wake: () => void = () => undefined
    config.onChange(() => wake())
    const changeBy = async (action: () => void) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      action()
      await promise
    }
    const replace = (text: string) => {
      writeFileSync(join(layout.root, 'new'), text)
      renameSync(join(layout.root, 'new'), layout.configFile)
    }
    await config.watch()
    await changeBy(() => write('model: two\n'))
    assert.equal(config.current().model, 'two')
    for (const model of ['three', 'four']) {
      await changeBy(() => replace(`model: ${model}\n`))
      assert.equal(config.current().model, model)
    }
    await changeBy(() => env('HERMES_HTTP_PORT=7\n'))
    assert.equal(config.current().http.port, 7)
    await changeBy(() => {
      replace('model: [')
      replace('model: five\n')
    })
    assert.equal(config.current().model, 'five')
    await config.stop()
    await config.stop()
  })

  it('may be stopped before it was started', async (t) => {
    await createTestHome(t).load().config.stop()
  })
})
