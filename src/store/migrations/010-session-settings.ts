/** Settings that a person has chosen for a conversation with a command. They outlive `/new`. */
export const sessionSettings = `
create table session_settings (
  session_key text primary key,
  settings text not null
) without rowid;
`
