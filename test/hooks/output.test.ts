/**
 * What hooks print and log: a hook that writes without end does not silence the others of its process.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { agentStart, createTestHooks, hookYaml, withoutPython } from './support.ts'

interface Language {
  readonly skip: string | false
  readonly file: string
  /** Bodies of handlers that write much. */
  readonly floods: Readonly<Record<string, string>>
  handler(body: string): string
  /** Logs a line, and prints one in two parts. */
  readonly good: string
}

const languages: Readonly<Record<string, Language>> = {
  JavaScript: {
    skip: false,
    file: 'handler.js',
    handler: (body) => `export const handle = async (event, context, { log }) => {\n  ${body}\n}\n`,
    good: 'log.info(`logged ${context.message}`); process.stdout.write("print"); console.log(`ed ${context.message}`)',
    floods: {
      'console.log': 'for (let n = 0; n < 2_000; n++) console.log("flood")',
      'console.error': 'for (let n = 0; n < 2_000; n++) console.error("flood")',
      'process.stdout': 'process.stdout.write("flood\\n".repeat(2_000))',
      log: 'for (let n = 0; n < 2_000; n++) log.info("flood")',
      'a timer that goes on': 'setInterval(() => { for (let n = 0; n < 500; n++) console.log("flood") }, 1).unref()',
      'the file descriptor': 'const { writeSync } = await import("node:fs"); writeSync(1, "flood\\n".repeat(2_000))',
    },
  },
  Python: {
    skip: withoutPython,
    file: 'handler.py',
    handler: (body) => `import os, sys\ndef handle(event, context, services):\n    ${body}\n`,
    good: 'services.log.info(f"logged {context[\'message\']}"); sys.stdout.write("print"); print(f"ed {context[\'message\']}")',
    floods: {
      print: 'for n in range(2000): print("flood")',
      'sys.stderr': 'sys.stderr.write("flood\\n" * 2000)',
      log: 'for n in range(2000): services.log.info("flood")',
      'the file descriptor': 'os.write(1, b"flood\\n" * 2000)',
    },
  },
}

const ended = { response: '', response_full: '', model: '', provider: '' }

for (const [language, { skip, file, handler, good, floods }] of Object.entries(languages)) {
  describe(`a hook in ${language}`, { skip }, () => {
    for (const [what, body] of Object.entries(floods)) {
      it(`that floods its output with ${what} does not silence another`, async (t) => {
        const hooks = createTestHooks(t, {
          files: {
            'bad/HOOK.yaml': hookYaml(['agent:start'], 'priority: 1\n'),
            [`bad/${file}`]: handler(body),
            'good/HOOK.yaml': hookYaml(['agent:end']),
            [`good/${file}`]: handler(good),
          },
        })
        hooks.registry.discoverAndLoad()
        for (const message of ['one', 'two', 'three']) {
          hooks.registry.emit('agent:start', agentStart(message))
          await hooks.registry.waitUntilIdle(10_000)
          hooks.registry.emit('agent:end', { ...agentStart(message), ...ended })
          await hooks.registry.waitUntilIdle(10_000)
        }
        const ofGood = hooks.log.records.filter(({ fields }) => fields['module'] === 'good')
        assert.deepEqual(
          ofGood.map(({ text }) => text),
          ['one', 'two', 'three'].flatMap((message) => [`logged ${message}`, `printed ${message}`]),
        )
        assert.equal(hooks.registry.processes().length, 1)
      })
    }
  })
}
