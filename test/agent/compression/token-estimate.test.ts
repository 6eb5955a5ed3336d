/**
 * The estimate of tokens against what tokenizers count. The counts were recorded with their published vocabularies; each list
 * has them in the order of `families`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countMostTokens, estimateTextTokens } from '../../../src/agent/compression/context-size.ts'

const families = [
  'OpenAI o200k',
  'OpenAI cl100k',
  'Anthropic',
  'Llama 3',
  'Llama 2',
  'Mistral 7B',
  'Qwen 3',
  'DeepSeek V3',
  'Gemma 3',
] as const

/** They split what they do not know into bytes. */
const oldFamilies: ReadonlySet<string> = new Set(['Llama 2', 'Mistral 7B'])

const samples = [
  {
    kind: 'english',
    text: 'The garden needs water twice a week in summer, and the roses should be cut back before the first frost. Please remind me on Monday morning, and order new gloves when you find a pair that fits.',
    tokens: [41, 41, 41, 41, 45, 43, 41, 41, 41],
  },
  {
    kind: 'german',
    text: 'Der Garten braucht im Sommer zweimal in der Woche Wasser, und die Rosen sollten vor dem ersten Frost zurückgeschnitten werden. Bitte erinnere mich am Montagmorgen an die Überweisung.',
    tokens: [36, 43, 52, 43, 47, 52, 43, 45, 37],
  },
  {
    kind: 'russian',
    text: 'Летом сад нужно поливать два раза в неделю, а розы следует обрезать до первых заморозков. Пожалуйста, напомни мне об этом в понедельник утром.',
    tokens: [41, 65, 71, 46, 57, 60, 51, 48, 36],
  },
  {
    kind: 'arabic',
    text: 'تحتاج الحديقة إلى الماء مرتين في الأسبوع في الصيف، ويجب تقليم الورود قبل أول صقيع. ذكرني بذلك صباح الاثنين من فضلك.',
    tokens: [34, 80, 105, 45, 103, 101, 42, 45, 37],
  },
  {
    kind: 'hindi',
    text: 'गर्मियों में बगीचे को सप्ताह में दो बार पानी चाहिए, और पहली ठंड से पहले गुलाबों की छंटाई करनी चाहिए। कृपया मुझे सोमवार सुबह याद दिलाएं।',
    tokens: [41, 133, 151, 73, 153, 145, 122, 80, 36],
  },
  {
    kind: 'thai',
    text: 'สวนต้องการน้ำสัปดาห์ละสองครั้งในฤดูร้อน และควรตัดแต่งกุหลาบก่อนน้ำค้างแข็งครั้งแรก กรุณาเตือนฉันเช้าวันจันทร์',
    tokens: [48, 100, 191, 50, 115, 111, 63, 42, 41],
  },
  {
    kind: 'chinese',
    text: '夏天花园每周需要浇两次水，玫瑰应该在第一次霜冻之前修剪。请在星期一早上提醒我，并在找到合适的手套时订购一副新的。',
    tokens: [50, 71, 66, 52, 86, 66, 35, 32, 37],
  },
  {
    kind: 'rareChinese',
    text: '龘靐齉爩鱻麤龗灪吁籲饢鼺鸞讟躞顴驫虌纞',
    tokens: [39, 45, 41, 38, 57, 57, 35, 37, 47],
  },
  {
    kind: 'japanese',
    text: '夏の間、庭には週に二回水をやる必要があり、バラは最初の霜の前に剪定しなければなりません。月曜日の朝に思い出させてください。',
    tokens: [52, 64, 65, 46, 71, 67, 39, 43, 34],
  },
  {
    kind: 'korean',
    text: '여름에는 정원에 일주일에 두 번 물을 주어야 하고, 장미는 첫 서리가 내리기 전에 가지치기를 해야 합니다. 월요일 아침에 알려 주세요.',
    tokens: [43, 63, 71, 42, 97, 77, 49, 47, 39],
  },
  {
    kind: 'emoji',
    text: '🌹🌻💧😀🎉👍🏽🚀🔥❤️🍕🐶🌍⏰📅✅🙏🎂🥳🤖🧤',
    tokens: [38, 60, 53, 59, 77, 54, 22, 40, 21],
  },
  {
    kind: 'family',
    text: '👨‍👩‍👧‍👦👩🏽‍🌾🏳️‍🌈🇩🇪🧑‍💻👩‍❤️‍💋‍👨',
    tokens: [44, 68, 59, 58, 78, 73, 37, 43, 27],
  },
  {
    kind: 'base64',
    text: '0EdMtpESOwpMuYlTO53yethgMDoYPL64ex2HkX5pRfToUTB5HzHbFpn2Gl5657XoXnA5lBTzhHYJGJYhR3HNF1qTknhOB+tAz7P0pGTgqRRR9XPutZ1gCYPhkL2KrdymNp2OJycDUbZYsQJ4VhZ5fatitlkFjKJJSHK2vQGBrKR2ob8BXwIqAVZfpcs4dXYU2R8YHeOKc+9zVR6e8bDIZaOCC0LWg46RXw6e6lXELbhUwZQd',
    tokens: [169, 177, 171, 177, 199, 190, 182, 173, 168],
  },
  {
    kind: 'hex',
    text: 'd0474cb691123b0a4cb989533b9df27ad860303a183cbeb87b1d87917e6945f4e85130791f31db1699f61a5e7ae7b5e85e70399414f38476091896214771cd175a9392784e07eb40cfb3f4a464e0a91451f573eeb59d600983e190bd8aaddca6369d8e27',
    tokens: [110, 110, 113, 110, 184, 185, 184, 110, 184],
  },
  {
    kind: 'uuids',
    text: '3f2a9c1e-7b54-4d0e-9f61-2c8a5e7d1b90 9b1d4e72-0c3f-4a88-b6e5-71f0d2c9a3e4 e07c5a19-2f6b-4c3d-8a90-5d1e7b2f4c68',
    tokens: [98, 98, 98, 98, 109, 109, 108, 98, 109],
  },
  {
    kind: 'numbers',
    text: '3.14159265358979 2718281828 1,474/2,200 2026-11-24T00:14:38.123Z 192.168.178.31 +49 151 23456789 0.000012 99.95%',
    tokens: [62, 62, 55, 62, 111, 111, 111, 62, 111],
  },
  {
    kind: 'typescript',
    text: "export function estimateTokens(messages: readonly ChatMessage[]): number {\n  return messages.reduce((sum, message) => sum + (message.role === 'user' ? 1 : 0), 0)\n}\n\nconst fetchUserById = async (id: string) => (await db.query('SELECT * FROM users WHERE id = $1', [id])).rows[0]\n",
    tokens: [77, 76, 82, 76, 90, 87, 76, 80, 85],
  },
  {
    kind: 'python',
    text: "def read_lines(path: str, limit: int = 10) -> list[str]:\n    with open(path, encoding='utf-8') as file:\n        return [line.rstrip('\\n') for _, line in zip(range(limit), file)]\n\nif __name__ == '__main__':\n    print(read_lines('/etc/hosts'))\n",
    tokens: [67, 67, 78, 67, 86, 87, 68, 69, 82],
  },
  {
    kind: 'minified',
    text: '!function(e,t){"object"==typeof exports&&"undefined"!=typeof module?t(exports):(e=e||self,t(e.X={}))}(this,function(e){"use strict";var n=[].slice,r=function(e){return e&&e.length>0?n.call(e,0):[]};e.a=r,e.b=1e3,Object.defineProperty(e,"__esModule",{value:!0})});',
    tokens: [87, 85, 113, 85, 113, 113, 85, 96, 109],
  },
  {
    kind: 'json',
    text: '{"users":[{"id":17,"name":"Ada","roles":["owner","member"],"active":true,"score":98.5},{"id":18,"name":"Ben","roles":[],"active":false,"score":null}],"next":"/v1/users?page=2&limit=50"}',
    tokens: [63, 60, 63, 60, 78, 76, 64, 66, 67],
  },
  {
    kind: 'paths',
    text: '/usr/local/lib/node_modules/npm/bin/npm-cli.js:42:17 src/agent/compression/context-size.ts ../../test/kit/servers/model-script.ts ~/.config/hermes/config.yaml',
    tokens: [37, 37, 57, 37, 63, 63, 39, 47, 59],
  },
  {
    kind: 'table',
    text: '| Name | Size | State |\n|---|---:|---|\n| a.txt | 1.2 kB | ok |\n| b.txt | 930 B | failed |\n┌──────┬──────┐\n│ Name │ Size │\n└──────┴──────┘\n',
    tokens: [66, 65, 68, 59, 67, 71, 61, 60, 60],
  },
  {
    kind: 'math',
    text: '∀x∈ℝ: x² ≥ 0 ∧ √(x²) = |x| ⇒ ∑ᵢ₌₁ⁿ i = n(n+1)⁄2 ≈ ½n²',
    tokens: [51, 51, 49, 49, 51, 59, 44, 43, 41],
  },
] as const

for (const { kind, text, tokens } of samples)
  test(`the estimate of ${kind} is near what each tokenizer counts`, () => {
    const estimate = estimateTextTokens(text)
    for (const [at, family] of families.entries()) {
      const counted = tokens[at] ?? assert.fail()
      const times = (counted / estimate).toFixed(2)
      const most = kind === 'rareChinese' ? 2.5 : oldFamilies.has(family) ? 1.7 : 1.5
      assert.ok(counted <= estimate * most, `${family} counts ${counted}, ${times} times the estimate`)
      assert.ok(counted >= estimate * 0.25, `${family} counts only ${counted}, ${times} times the estimate`)
    }
    const bound = countMostTokens([{ role: 'user', content: text }])
    assert.ok(bound >= Math.max(estimate, ...tokens), 'the upper bound holds for each tokenizer')
  })
