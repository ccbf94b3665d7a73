// What the browser keeps: conversations in IndexedDB, choices of the reader in local storage.
const kName = "paceline", kStore = "chats";
let opened;

function database() {
  opened ??= new Promise((resolve, reject) => {
    const asked = indexedDB.open(kName, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(kStore, { keyPath: "id" });
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  return opened;
}

async function inStore(mode, work) {
  const transaction = (await database()).transaction(kStore, mode);
  const asked = work(transaction.objectStore(kStore));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(asked.result);
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}

export const loadChats = () => inStore("readonly", (store) => store.getAll());
export const saveChat = (chat) => inStore("readwrite", (store) => store.put(chat));
export const dropChat = (id) => inStore("readwrite", (store) => store.delete(id));

export function remembered(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`paceline.${key}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}
export function remember(key, value) {
  try {
    localStorage.setItem(`paceline.${key}`, JSON.stringify(value));
  } catch {
    // Nothing is kept in a browser that lets nothing be kept.
  }
}
